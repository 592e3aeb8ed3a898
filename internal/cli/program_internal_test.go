package cli

import "testing"

func TestTypedPath(t *testing.T) {
	for _, tt := range []struct {
		path, want string
		checkout   bool
	}{
		{path: "./molar", want: "./molar"},
		{path: "bin/molar", want: "bin/molar"},
		{path: "/opt/my programs/molar", want: `"/opt/my programs/molar"`},
		{path: "/tmp/go-build12/b001/exe/molar", want: "go run ./cmd/molar", checkout: true},
		{path: "/home/an/.cache/go-build/3f/3f0-d/molar", want: "go run molar/cmd/molar"},
		{path: "/srv/go-builder/molar", want: "/srv/go-builder/molar"},
		{path: `C:\tools\molar.exe`, want: `C:\tools\molar.exe`},
		{path: "./molar_1.2.0_linux_amd64", want: "./molar_1.2.0_linux_amd64"},
		{path: "molar", want: "molar"},
		{path: "/tmp/go-build12/b001/host.test", want: "molar"},
	} {
		if got := typedPath(tt.path, func(string) bool { return tt.checkout }); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestTypedBy(t *testing.T) {
	const text = "a molar serves: molar serve, or (molar init), not ./molar serve or my-molar serve"
	const want = "a molar serves: go run ./cmd/molar serve, or (go run ./cmd/molar init), not ./molar serve or my-molar serve"
	once := typedBy("go run ./cmd/molar", text)
	if once != want || typedBy("go run ./cmd/molar", once) != want || typedBy("molar", text) != text {
		t.Errorf("%s", once)
	}
}
