package match

// String shows an expected call in one line: its name and the arguments as they were
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
