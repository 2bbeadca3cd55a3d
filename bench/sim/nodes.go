package sim

import "strings"

// Nodes gives the components of keys numbers, in a tree whose root is 0.
type nodes struct {
	parent []int32
	child  map[edge]int32
}

type edge struct {
	from int32
	name string
}

func newNodes() nodes { return nodes{parent: []int32{0}, child: map[edge]int32{}} }

// find returns the node of a key, making what is missing of its path.
func (n *nodes) find(key string) int32 {
	key = strings.TrimRight(key, "/")
	at := int32(0)
	for {
		name, rest, more := strings.Cut(key, "/")
		at = n.step(at, name)
		if !more {
			return at
		}
		key = rest
	}
}

// step returns the child of a node with that name, making it if it is missing.
func (n *nodes) step(from int32, name string) int32 {
	e := edge{from, name}
	to, ok := n.child[e]
	if !ok {
		to = int32(len(n.parent))
		n.parent = append(n.parent, from)
		n.child[e] = to
	}
	return to
}
