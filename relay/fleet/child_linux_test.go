package fleet_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"
)

// runBridge writes decisions and ships them until it is killed. It prints a line for each decision that the
// local log has acknowledged. Arguments: folder, URL, name.
func runBridge() int {
	args, ctx := os.Args[1:], context.Background()
	s, err := store.Open(ctx, store.Options{Folder: args[0]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sink, err := fleet.NewDatabase(args[1], "fleet.url")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for {
			if _, err := fleet.Ship(ctx, s, sink, sender, false); err != nil { // the server is away
				time.Sleep(5 * time.Millisecond)
			}
		}
	}()
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%d", args[2], i)
		if err := s.Append(ctx, decision.Record{Method: "turn/start", Thread: name}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(name)
	}
}
