package match

// String returns the name and the arguments of an expected call in one line, as they were
// written.
func (e *Expected) String() string {
	name := e.Name
	if e.Server != "" {
		name = e.Server + " " + name
	}
	if e.Args == nil {
		return name
	}
	args := make(map[string]any, len(e.Args))
	for name, m := range e.Args {
		args[name] = m.raw
	}
	return name + " " + Show(args)
}
