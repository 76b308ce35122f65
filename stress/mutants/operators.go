package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"strings"
)

// An edit changes a function's syntax tree in place. It undoes itself.
type edit struct {
	op       string   // the name of the operator
	at       ast.Node // what a reader is shown of it
	do, undo func()
}

// A collector finds all edits of one function.
type collector struct {
	fset  *token.FileSet
	edits []edit
	bound map[ast.Node]bool // literals that the comparison's own mutants move
}

func edits(fset *token.FileSet, fn *ast.FuncDecl) []edit {
	c := &collector{fset: fset, bound: map[ast.Node]bool{}}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			c.list(n.List)
		case *ast.CaseClause:
			c.list(n.Body)
			for i := range n.List {
				c.force(&n.List[i])
			}
		case *ast.CommClause:
			c.list(n.Body)
		case *ast.IfStmt:
			if step, hook := hook(n); hook {
				if step != nil {
					ast.Inspect(step, visit)
				}
				return false
			}
			c.force(&n.Cond)
		case *ast.BinaryExpr:
			c.binary(n)
		case *ast.UnaryExpr:
			c.unary(n)
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "panic" {
				return false // what it says is nobody's promise
			}
			c.call(n)
		case *ast.BasicLit:
			if n.Kind == token.INT && !c.bound[n] {
				set(c, "literal", n, &n.Value, "("+n.Value+" + 1)")
			}
		case *ast.ReturnStmt:
			c.returns(n)
		}
		return true
	}
	ast.Inspect(fn.Body, visit)
	c.locks(fn.Body)
	return c.edits
}

// hook reports whether a statement is one that only the build with the tag
// invariants has. Nothing in it is changed, but the step that it may wait for:
// what stands before && invariants.On runs in every build.
func hook(s ast.Stmt) (step ast.Expr, hook bool) {
	if n, ok := s.(*ast.IfStmt); ok {
		return checked(n.Cond)
	}
	return nil, false
}

func checked(cond ast.Expr) (step ast.Expr, is bool) {
	switch x := cond.(type) {
	case *ast.SelectorExpr:
		p, ok := x.X.(*ast.Ident)
		return nil, ok && p.Name == "invariants" && x.Sel.Name == "On"
	case *ast.BinaryExpr:
		if x.Op != token.LAND {
			return nil, false
		}
		if _, last := checked(x.Y); last {
			return x.X, true
		}
		return checked(x.X)
	}
	return nil, false
}

// set adds an edit that gives a variable of the tree another value meanwhile.
func set[T any](c *collector, op string, at ast.Node, v *T, other T) {
	own := *v
	c.edits = append(c.edits, edit{op, at, func() { *v = other }, func() { *v = own }})
}

// others are what stands instead of an operator: for a comparison first where
// the boundary moves, then its opposite.
var others = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
	token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR}, token.AND_NOT: {token.AND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

func (c *collector) operator(at ast.Node, op *token.Token) {
	for _, other := range others[*op] {
		set(c, "operator", at, op, other)
	}
}

func (c *collector) binary(n *ast.BinaryExpr) {
	c.operator(n, &n.Op)
	if n.Op.Precedence() == token.EQL.Precedence() {
		c.bound[n.X], c.bound[n.Y] = true, true
	}
	if n.Op == token.LAND || n.Op == token.LOR {
		neutral := ast.Expr(ast.NewIdent(fmt.Sprint(n.Op == token.LAND)))
		set(c, "operand", n, &n.X, neutral)
		set(c, "operand", n, &n.Y, neutral)
	}
}

func (c *collector) unary(n *ast.UnaryExpr) {
	switch n.Op {
	case token.NOT:
		set(c, "negation", n, &n.X, not(n.X))
	case token.SUB:
		set(c, "sign", n, &n.Op, token.ADD)
	}
}

func not(x ast.Expr) ast.Expr { return &ast.UnaryExpr{Op: token.NOT, X: &ast.ParenExpr{X: x}} }

// force decides a condition that no operator turns by a little: what is asked
// of a call, of a variable, or whether two things are equal.
func (c *collector) force(cond *ast.Expr) {
	switch x := (*cond).(type) {
	case *ast.BinaryExpr:
		if x.Op != token.EQL && x.Op != token.NEQ {
			return
		}
	case *ast.CallExpr, *ast.SelectorExpr, *ast.Ident, *ast.UnaryExpr:
	default:
		return
	}
	set(c, "forced true", *cond, cond, ast.Expr(ast.NewIdent("true")))
	set(c, "forced false", *cond, cond, ast.Expr(ast.NewIdent("false")))
}

func (c *collector) call(n *ast.CallExpr) {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		switch fun.Name {
		case "min":
			set(c, "extreme", n, &fun.Name, "max")
		case "max":
			set(c, "extreme", n, &fun.Name, "min")
		}
	case *ast.SelectorExpr:
		if fun.Sel.Name == "CompareAndSwap" && len(n.Args) == 2 {
			store := &ast.CallExpr{Fun: &ast.SelectorExpr{X: fun.X, Sel: ast.NewIdent("Store")}, Args: n.Args[1:]}
			blind := &ast.FuncLit{
				Type: &ast.FuncType{Params: &ast.FieldList{}, Results: &ast.FieldList{List: []*ast.Field{{Type: ast.NewIdent("bool")}}}},
				Body: &ast.BlockStmt{List: []ast.Stmt{
					&ast.AssignStmt{Lhs: []ast.Expr{ast.NewIdent("_")}, Tok: token.ASSIGN, Rhs: n.Args[:1]},
					&ast.ExprStmt{X: store},
					&ast.ReturnStmt{Results: []ast.Expr{ast.NewIdent("true")}},
				}},
			}
			other := ast.CallExpr{Fun: blind}
			set(c, "blind store", n, n, other)
		}
	}
}

// returns gives back something else: what does not compile falls away later.
func (c *collector) returns(n *ast.ReturnStmt) {
	for i, x := range n.Results {
		switch x := x.(type) {
		case *ast.FuncLit, *ast.CompositeLit, *ast.BinaryExpr, *ast.BasicLit, *ast.UnaryExpr:
			continue // too much, or an operator of its own will do
		case *ast.Ident:
			switch x.Name {
			case "nil":
				continue
			case "true":
				set(c, "result", n, &n.Results[i], ast.Expr(ast.NewIdent("false")))
				continue
			case "false":
				set(c, "result", n, &n.Results[i], ast.Expr(ast.NewIdent("true")))
				continue
			}
		}
		set(c, "result", n, &n.Results[i], not(x))
		set(c, "result", n, &n.Results[i], ast.Expr(&ast.BinaryExpr{X: &ast.ParenExpr{X: x}, Op: token.ADD, Y: ast.NewIdent("1")}))
		set(c, "result", n, &n.Results[i], ast.Expr(ast.NewIdent("nil")))
	}
}

// list handles statements that follow each other.
func (c *collector) list(list []ast.Stmt) {
	before := -1 // the statement before, whatever hooks stand between
	for i, s := range list {
		if _, hook := hook(s); hook {
			continue
		}
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
			c.remove(list, i)
		case *ast.IncDecStmt:
			c.remove(list, i)
			c.operator(s, &s.Tok)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				c.remove(list, i)
			}
			c.operator(s, &s.Tok)
			if len(s.Rhs) > 1 && calls(s) {
				swap := func() { s.Lhs, s.Rhs = reversed(s.Lhs), reversed(s.Rhs) }
				c.edits = append(c.edits, edit{"order", s, swap, swap})
			}
		}
		if b, ok := s.(*ast.BranchStmt); ok && b.Label == nil {
			c.operator(b, &b.Tok)
		}
		if last := before; last >= 0 && calls(list[last]) && calls(s) {
			swap := func() { list[last], list[i] = list[i], list[last] }
			c.edits = append(c.edits, edit{"order", &ast.BlockStmt{List: []ast.Stmt{list[last], s}}, swap, swap})
		}
		before = i
	}
}

func (c *collector) remove(list []ast.Stmt, i int) {
	set(c, "removal", list[i], &list[i], ast.Stmt(&ast.EmptyStmt{}))
}

// calls reports whether a simple statement calls a method.
func calls(s ast.Stmt) (found bool) {
	switch s.(type) {
	case *ast.ExprStmt, *ast.AssignStmt:
	default:
		return false
	}
	ast.Inspect(s, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			_, method := call.Fun.(*ast.SelectorExpr)
			found = found || method
		}
		return !found
	})
	return found
}

func reversed(list []ast.Expr) []ast.Expr {
	r := make([]ast.Expr, 0, len(list))
	for i := range list {
		r = append(r, list[len(list)-1-i])
	}
	return r
}

// locks takes each lock away, with all of its Lock and Unlock.
func (c *collector) locks(body *ast.BlockStmt) {
	slots := map[string][]*ast.Stmt{}
	var names []string
	ast.Inspect(body, func(n ast.Node) bool {
		if b, ok := n.(*ast.BlockStmt); ok {
			for i, s := range b.List {
				text := strings.TrimPrefix(c.text(s), "defer ")
				name, lock := strings.CutSuffix(text, ".Lock()")
				if !lock {
					name, lock = strings.CutSuffix(text, ".Unlock()")
				}
				if lock && !strings.Contains(name, "\n") {
					if slots[name] == nil {
						names = append(names, name)
					}
					slots[name] = append(slots[name], &b.List[i])
				}
			}
		}
		return true
	})
	for _, name := range names {
		own := make([]ast.Stmt, len(slots[name]))
		c.edits = append(c.edits, edit{"no lock", &ast.ExprStmt{X: ast.NewIdent(name)}, func() {
			for i, s := range slots[name] {
				own[i], *s = *s, &ast.EmptyStmt{}
			}
		}, func() {
			for i, s := range slots[name] {
				*s = own[i]
			}
		}})
	}
}

// text prints a node.
func (c *collector) text(n ast.Node) string { return text(c.fset, n) }

func text(fset *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, n); err != nil {
		panic(err)
	}
	return b.String()
}

// short is the text on one line, cut.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 90 {
		s = s[:90] + "…"
	}
	return s
}
