//go:build !race

package main

const sampled = false
