// Package redislimit limits rates over many processes that share a Redis.
package redislimit
