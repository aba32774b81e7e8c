//go:build !linux

package fleet_test

func runBridge() int { return 2 }
