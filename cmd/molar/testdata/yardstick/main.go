// Yardstick prints how many microseconds a fixed piece of work takes, of the kind that
// packages do at their start: it tells how fast the machine is just now.
package main

import (
	"fmt"
	"regexp"
	"time"
)

func main() {
	begin := time.Now()
	for range 40 {
		regexp.MustCompile(`^(?:[a-zA-Z0-9!#$%&'*+/=?^_{|}~-]+(?:\.[a-z0-9]+)*)@(?:(?:[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\.)+[a-z]{2,63})$`)
	}
	fmt.Println(time.Since(begin).Microseconds())
}
