package mcpclients

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/schemas"
)

// keepTimeout bounds the storing of pins while a server is attached.
const keepTimeout = 5 * time.Second

// Errors of people's decisions. Use errors.Is.
var (
	// ErrUnknownTool means that no attached server has such a tool.
	ErrUnknownTool = errors.New("unknown tool")
	// ErrNotPinned means that the server's tools need no approval.
	ErrNotPinned = errors.New("server is not pinned")
	// ErrChanged means that the tools changed after they were reviewed.
	ErrChanged = errors.New("the tools have changed since")
)

// A Keeper stores decisions beyond the life of the process.
type Keeper interface {
	KeepSwitch(ctx context.Context, server, tool string, on bool) error
	// KeepPins replaces all pins of a server.
	KeepPins(ctx context.Context, server string, pins map[string]string) error
	// KeepConfirmation replaces what was confirmed about a server.
	KeepConfirmation(ctx context.Context, server string, confirmed schemas.Confirmation) error
}

// InForce holds the decisions in force, shared by all servers.
type InForce struct {
	keeper Keeper // nil stores nothing
	mu     sync.Mutex
	off    map[schemas.ToolRef]bool
	pins   map[string]map[string]string
	// confirmed is what people have confirmed, by server.
	confirmed map[string]schemas.Confirmation
	decided   int // counts the decisions of this process
}

// newInForce returns the stored decisions; with a nil keeper new ones are not stored.
func newInForce(stored schemas.ToolDecisions, keeper Keeper) *InForce {
	d := &InForce{keeper: keeper, off: maps.Clone(stored.Off), pins: maps.Clone(stored.Pins), confirmed: maps.Clone(stored.Confirmed)}
	if d.off == nil {
		d.off = map[schemas.ToolRef]bool{}
	}
	if d.pins == nil {
		d.pins = map[string]map[string]string{}
	}
	if d.confirmed == nil {
		d.confirmed = map[string]schemas.Confirmation{}
	}
	return d
}

// digest identifies the whole definition of a tool as a model sees it.
func digest(info schemas.ToolInfo) string {
	sum, _, _ := strings.Cut(pin(info), " ")
	return sum
}

// pin returns the digest of a definition and the definition. A definition that looks like one that
// earlier versions cut has another digest than theirs.
func pin(info schemas.ToolInfo) string {
	if looksCut(info.Description) {
		return saltedPin(info, "whole")
	}
	return saltedPin(info, "")
}

// saltedPin returns the digest of a salt and a definition, and the definition.
func saltedPin(info schemas.ToolInfo, salt string) string {
	raw, err := json.Marshal(info)
	if err != nil {
		return "" // no schema that was decoded fails here; an empty digest matches nothing
	}
	sum := sha256.Sum256(append([]byte(salt), raw...))
	return hex.EncodeToString(sum[:]) + " " + string(raw)
}

// samePin reports whether two pins, or a pin and a digest, are of the same definition.
func samePin(a, b string) bool {
	a, _, _ = strings.Cut(a, " ")
	b, _, _ = strings.Cut(b, " ")
	return a == b
}

func pins(list []definition) map[string]string {
	all := make(map[string]string, len(list))
	for _, t := range list {
		all[t.ToolName] = pin(t.ToolInfo)
	}
	return all
}

// trustFirst pins the tools and the instructions that a pinned server lists for the first time.
func (d *InForce) trustFirst(server string, list []definition, log *slog.Logger) {
	d.mu.Lock()
	pinned, known := d.pins[server]
	_, whole := pinned[schemas.Instructions] // earlier versions pinned the tools alone
	if known && whole || !hasTools(listed(list)) {
		d.mu.Unlock()
		return
	}
	now := pins(list)
	if known {
		pinned = maps.Clone(pinned)
		pinned[schemas.Instructions] = now[schemas.Instructions]
	} else {
		pinned = now
	}
	d.pins[server] = pinned
	d.decided++
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keepTimeout)
	defer cancel()
	if err := d.keep(ctx, server, pinned); err != nil {
		log.Warn("the pins of the server's tools hold only until molar ends", "error", err)
		return
	}
	log.Info("the server's tools are pinned as they are", "tools", len(pinned)-1)
}

// hasTools reports whether a list holds more than the instructions.
func hasTools(infos []schemas.ToolInfo) bool {
	return slices.ContainsFunc(infos, func(info schemas.ToolInfo) bool { return info.ToolName != schemas.Instructions })
}

func (d *InForce) keep(ctx context.Context, server string, pins map[string]string) error {
	if d.keeper == nil {
		return nil
	}
	return d.keeper.KeepPins(ctx, server, pins)
}

// withheld returns why a tool must not be used, "" if it may, and whether it is switched off.
func (d *InForce) withheld(t definition, pinned bool) (why string, off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off = d.off[schemas.ToolRef{Server: t.Server, Tool: t.ToolName}]; off {
		why = "it is switched off"
	}
	if pinned {
		why = cmp.Or(d.unpinned(t), why)
	}
	return why, off
}

// unpinned returns why a tool of a pinned server is pending approval, "" if it is not. d.mu is
// held.
func (d *InForce) unpinned(t definition) (why string) {
	pins, known := d.pins[t.Server]
	if !known {
		return ""
	}
	before, seen := pins[t.ToolName]
	what := ""
	switch {
	case !seen:
		what = "it is new"
	case !samePin(before, t.sum):
		what = "its definition changed"
	default:
		return ""
	}
	return fmt.Sprintf("%s since the server's tools were approved; read it, then run: molar servers approve %s", what, t.Server)
}

// Switch turns a tool off or on and stores that.
func (d *InForce) Switch(ctx context.Context, ref schemas.ToolRef, on bool) error {
	if d.keeper != nil {
		if err := d.keeper.KeepSwitch(ctx, ref.Server, ref.Tool, on); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decided++
	if on {
		delete(d.off, ref)
	} else {
		d.off[ref] = true
	}
	return nil
}

// Approve accepts the current tools of a pinned server and returns the names of those that were
// pending approval. If seen, the digest from a status, is set and no longer matches, it returns
// [ErrChanged].
func (d *InForce) Approve(ctx context.Context, server, reviewed string, infos []schemas.ToolInfo) ([]string, error) {
	list, _ := define(infos, nil)
	changes, now := d.pending(list)
	if reviewed != "" && reviewed != now {
		return nil, fmt.Errorf("%w: server %q lists other definitions than those that you saw; look again", ErrChanged, server)
	}
	pinned := pins(list)
	if err := d.keep(ctx, server, pinned); err != nil {
		return nil, fmt.Errorf("approve the tools of server %q: %w", server, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pins[server] = pinned
	d.decided++
	names := []string{}
	for _, c := range changes {
		names = append(names, c.Tool)
	}
	return names, nil
}

// Refresh adopts the decisions of other processes with the same Keeper, as read returns them, and
// reports whether anything changed. A decision made here while read runs is newer and wins: then it
// reads once more, as a caller may come again only after the next change. Pins that were never stored
// stay.
func (d *InForce) Refresh(ctx context.Context, read func(context.Context) (schemas.ToolDecisions, error)) (bool, error) {
	for {
		d.mu.Lock()
		before := d.decided
		d.mu.Unlock()
		stored, err := read(ctx)
		if err != nil {
			return false, fmt.Errorf("read the decisions about tools: %w", err)
		}
		if changed, current := d.adopt(stored, before); current {
			return changed, nil
		}
	}
}

// adopt replaces the decisions in force by the stored ones and reports whether they differ. It
// does nothing if a decision was made since before; then the stored ones are not current.
func (d *InForce) adopt(stored schemas.ToolDecisions, before int) (changed, current bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decided != before {
		return false, false
	}
	changed = !maps.Equal(d.off, stored.Off)
	if changed {
		d.off = map[schemas.ToolRef]bool{}
		maps.Copy(d.off, stored.Off)
	}
	if !reflect.DeepEqual(stored.Confirmed, d.confirmed) && len(stored.Confirmed)+len(d.confirmed) > 0 {
		d.confirmed = map[string]schemas.Confirmation{}
		maps.Copy(d.confirmed, stored.Confirmed)
		changed = true
	}
	for server, pins := range stored.Pins {
		if !maps.EqualFunc(d.pins[server], pins, samePin) {
			d.pins[server] = maps.Clone(pins)
			changed = true
		}
	}
	return changed, true
}

// confirmation returns what a person has confirmed about a server's tools, by own name, of those that
// are still the same; and of the server, which is nil unless all of its list is.
func (d *InForce) confirmation(server string, list []definition) (tools map[string]schemas.ToolMarks, all *schemas.Confirmation) {
	d.mu.Lock()
	confirmed, known := d.confirmed[server]
	d.mu.Unlock()
	if !known {
		return nil, nil
	}
	tools, all = map[string]schemas.ToolMarks{}, &confirmed
	for _, t := range list {
		marks, seen := confirmed.Tools[t.ToolName]
		switch {
		case t.ToolName == schemas.Instructions && t.sum == confirmed.Instructions:
		case seen && marks.Digest == t.sum:
			tools[t.ToolName] = marks
		default:
			all = nil
		}
	}
	return tools, all
}

// Confirm stores what a person confirms about the tools that a server lists.
func (d *InForce) Confirm(ctx context.Context, p schemas.Proposal, infos []schemas.ToolInfo) error {
	list, _ := define(infos, nil)
	c := schemas.Confirmation{Public: p.Public, Closed: p.Closed, ReadOnly: p.ReadOnly, Tools: map[string]schemas.ToolMarks{}}
	for _, now := range list {
		if now.ToolName == schemas.Instructions {
			c.Instructions = now.sum
			continue
		}
		i := slices.IndexFunc(p.Tools, func(t schemas.ProposedTool) bool { return t.Tool == now.ToolName })
		if i < 0 {
			continue // it stays unconfirmed
		}
		t := p.Tools[i]
		content := append([]string{}, t.Content...)
		c.Tools[now.ToolName] = schemas.ToolMarks{Digest: now.sum, Reads: t.Reads, Adds: t.Adds && !t.Reads, Mild: t.Mild, Content: content}
	}
	if d.keeper != nil {
		if err := d.keeper.KeepConfirmation(ctx, p.Server, c); err != nil {
			return fmt.Errorf("confirm the tools of server %q: %w", p.Server, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.confirmed[p.Server] = c
	d.decided++
	return nil
}

// listDigest identifies all definitions of a list.
func listDigest(list []definition) string {
	sums := make([]string, len(list))
	for i, t := range list {
		sums[i] = t.ToolName + " " + t.sum
	}
	slices.Sort(sums)
	all := sha256.Sum256([]byte(strings.Join(sums, "\n")))
	return hex.EncodeToString(all[:8])
}
