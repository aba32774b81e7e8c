package child

import (
	"os"
	"strconv"
	"strings"
)

// Descendants returns the ids of all descendants of a process, including zombies.
func Descendants(pid int) []int {
	var all []int
	for _, c := range Children(pid) {
		all = append(append(all, c), Descendants(c)...)
	}
	return all
}

// Children returns the ids of a process's children, including zombies.
func Children(pid int) []int {
	var all []int
	tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + task.Name() + "/children")
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(list)) {
			if c, err := strconv.Atoi(word); err == nil {
				all = append(all, c)
			}
		}
	}
	return all
}
