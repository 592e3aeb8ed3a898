package schemas

import "slices"

// Approves reports whether one of the groups is among the approvers of a tool. Nil Rights are in no
// group.
func (r *Rights) Approves(approvers []string) bool {
	return slices.ContainsFunc(r.Names(), func(name string) bool { return slices.Contains(approvers, name) })
}

// ApprovesOwn reports whether one of the groups is among the approvers of a tool, and its members may
// decide about their own calls.
func (r *Rights) ApprovesOwn(approvers []string) bool {
	return r != nil && slices.ContainsFunc(r.Groups, func(g Group) bool { return g.ApprovesOwn && slices.Contains(approvers, g.Name) })
}

// A Decider is somebody who wants to decide about a call.
type Decider struct {
	// Owner is the owner of what they have; empty for the operator of a port without keys.
	Owner string `json:"owner"`
	// Name is what others are told.
	Name string `json:"name,omitempty"`
	// Groups are the names of their groups, Own those that approve their members' own calls.
	Groups []string `json:"groups,omitempty"`
	Own    []string `json:"own,omitempty"`
}

// DeciderOf returns somebody with these rights.
func DeciderOf(owner, name string, rights *Rights) Decider {
	d := Decider{Owner: owner, Name: name, Groups: rights.Names()}
	if rights == nil {
		return d
	}
	for _, g := range rights.Groups {
		if g.ApprovesOwn {
			d.Own = append(d.Own, g.Name)
		}
	}
	return d
}

// A Say is what somebody may do about a call that needs approval.
type Say string

// The answers to who may decide about a call.
const (
	// SayNothing: to them the call does not exist.
	SayNothing Say = ""
	// SayNo: they may refuse it, and not approve it: it is their own.
	SayNo Say = "no"
	// SayAll: they may approve and refuse it.
	SayAll Say = "all"
)

// SayAbout returns what they may do about a call of an owner's turn. Without approvers the owner
// decides. With approvers others in one of these groups decide, and the owner only if a group allows
// that; the operator of a port without keys is alone there, and decides.
func (d Decider) SayAbout(owner string, approvers []string) Say {
	among := func(groups []string) bool {
		return slices.ContainsFunc(groups, func(name string) bool { return slices.Contains(approvers, name) })
	}
	switch mine := d.Owner == owner; {
	case mine && (len(approvers) == 0 || owner == "" || among(d.Own)):
		return SayAll
	case mine:
		return SayNo
	case among(d.Groups):
		return SayAll
	}
	return SayNothing
}
