//go:build !linux

package main

// exchange can't swap two folders in one step here; the caller renames one after the other.
func exchange(_, _ string) (exchanged bool, err error) { return false, nil }
