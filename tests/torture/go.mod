module torture

go 1.19

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/gomodule/redigo v1.9.3
	golang.org/x/sys v0.20.0
)
