package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"molar/web/wire"
)

// A function identifies a function of the client: by its name, in a namespace unless that is empty.
type function struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// joinName returns the name by which the model knows a function of a namespace: both names, cut to
// fit, with a hash of what was cut.
func joinName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	joined := namespace + "__" + name
	if len(joined) <= wire.MaxToolName {
		return joined
	}
	sum := sha256.Sum256([]byte(joined))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return joined[:wire.MaxToolName-len(suffix)] + suffix
}

// addNamespace adds the functions of a namespace, each under a name of its own. The description of
// the namespace precedes that of its first function.
func (b *toolbox) addNamespace(t wireTool, at string) error {
	if !wire.IsToolName(t.Name) {
		return wire.Invalid(at+".name", "a namespace's name is 1 to %d characters of A-Z a-z 0-9 _ -", wire.MaxToolName)
	}
	about := t.Description
	for i, raw := range t.Tools {
		here := fmt.Sprintf("%s.tools[%d]", at, i)
		var inner wireTool
		if err := wire.Decode(raw, &inner, here); err != nil {
			return err
		}
		if inner.Type != "function" {
			if hostedKind(inner.Type) == "" {
				return wire.Unsupported(here+".type", fmt.Sprintf("a tool of type %q is not known in a namespace; use function", wire.Clip(inner.Type, 40)))
			}
			b.leftOut = append(b.leftOut, absence{kind: inner.Type, name: inner.Name, at: here})
			continue
		}
		if about != "" {
			inner.Description, about = about+"\n\n"+inner.Description, ""
		}
		f := function{Namespace: t.Name, Name: inner.Name}
		if _, err := b.addFunction(f, inner, here); err != nil {
			return err
		}
		b.functions[joinName(f.Namespace, f.Name)] = f
	}
	return nil
}
