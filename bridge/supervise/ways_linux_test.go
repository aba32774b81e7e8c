//go:build !portable && (amd64 || arm64)

package supervise

import "testing"

// ways are lines that start touch by another name or in another way.
var ways = []struct{ name, line string }{
	{"name", `touch "$P"`},
	{"path", `/usr/bin/touch "$P"`},
	{"exec", `exec touch "$P"`},
	{"first argument", `exec -a ls touch "$P"`},
	{"slashes", `//usr//bin/./touch "$P"`},
	{"parent", `/usr/bin/../bin/touch "$P"`},
	{"relative", `cd /usr/bin; ./touch "$P"`},
	{"relative parent", `cd /usr/lib; ../bin/touch "$P"`},
	{"above the root", `cd /; ../../usr/bin/touch "$P"`},
	{"link", `ln -s /usr/bin/touch x; ./x "$P"`},
	{"absolute link", `ln -s /usr/bin/touch x; "$PWD/x" "$P"`},
	{"links", `ln -s /usr/bin/touch x; ln -s x y; ln -s "$PWD/y" z; ./z "$P"`},
	{"link to a folder", `ln -s /usr/bin d; cp -P /dev/null n; d/touch "$P"`},
	{"link upwards", `mkdir -p d/e; ln -s ../../x d/e/y; ln -s /usr/bin/touch x; d/e/y "$P"`},
	{"PATH", `mkdir b; ln -s /usr/bin/touch b/x; PATH=$PWD/b x "$P"`},
	{"env", `env touch "$P"`},
	{"xargs", `echo "$P" | xargs touch`},
	{"find", `find . -maxdepth 0 -exec touch "$P" \;`},
	{"descriptor", `$H at-empty /usr/bin/touch ls "$P"`},
	{"folder's descriptor", `$H at-folder /usr/bin touch ls "$P"`},
	{"folder's descriptor and a link", `ln -s /usr/bin/touch x; $H at-folder . x ls "$P"`},
	{"folder's descriptor and an absolute name", `$H at-folder . /usr/bin/touch ls "$P"`},
	{"/proc/self/fd", `$H fd /usr/bin/touch /proc/self/fd/ ls "$P"`},
	{"/proc/thread-self/fd", `$H fd /usr/bin/touch /proc/thread-self/fd/ ls "$P"`},
	{"/dev/fd", `$H fd /usr/bin/touch /dev/fd/ ls "$P"`},
	{"/proc/self/fd by other names", `$H fd /usr/bin/touch //proc/./self/fd/ ls "$P"`},
	{"/proc/PID/fd", `exec 5< /usr/bin/touch; exec -a ls /proc/$$/fd/5 "$P"`},
	{"link to a descriptor", `exec 5< /usr/bin/touch; ln -s /proc/self/fd/5 x; exec -a ls ./x "$P"`},
	{"/dev/stdin", `exec -a ls /dev/stdin "$P" < /usr/bin/touch`},
	{"removed file", `cp /usr/bin/touch .; exec 5< touch; rm touch; exec -a ls /proc/self/fd/5 "$P"`},
	{"/proc/self/cwd", `cd /usr/bin; ln -s /proc/self/cwd/touch "$OLDPWD/x"; exec -a ls "$OLDPWD/x" "$P"`},
	{"/proc/self/root", `exec -a ls /proc/self/root/usr/bin/touch "$P"`},
	{"memory", `$H at-memory /usr/bin/touch touch "$P"`},
	{"memory by /proc/self/fd", `$H memory /usr/bin/touch touch "$P"`},
	{"script in memory", `printf '#!/usr/bin/touch\n' > s; $H at-memory s ls "$P"`},
	{"script in memory by /proc/self/fd", `printf '#!/usr/bin/touch\n' > s; $H memory s ls "$P"`},
	{"ssh", `mkdir b; printf '#!/bin/sh\nshift; exec sh -c "$*"\n' > b/ssh; chmod +x b/ssh; PATH=$PWD/b:$PATH; ssh host "touch $P"`},
	{"script", `printf '#!/usr/bin/touch\n' > s; chmod +x s; ./s "$P"`},
	{"script with an option", `printf '#!/usr/bin/touch -c\n' > s; chmod +x s; ./s "$P"; printf '#! \t /usr/bin/touch \t -m \t \n' > s; ./s "$P"`},
	{"script without an end", `printf '#!/usr/bin/touch' > s; chmod +x s; ./s "$P"`},
	{"script with a NUL", `printf '#!/usr/bin/touch\0x y\n' > s; chmod +x s; ./s "$P"`},
	{"script of env", `printf '#!/usr/bin/env -S touch -m\n' > s; chmod +x s; ./s "$P"`},
	{"scripts", `i=/usr/bin/touch; for n in 1 2 3 4 5; do printf '#!%s\n' "$i" > s$n; chmod +x s$n; i=$PWD/s$n; done; ./s5 "$P"`},
	{"relative interpreter", `ln -s /usr/bin/touch x; printf '#!x\n' > s; chmod +x s; ./s "$P"`},
	{"script by a descriptor", `printf '#!/usr/bin/touch\n' > s; chmod +x s; $H at-empty s s "$P"`},
	{"unreadable script", `printf '#!/usr/bin/touch\n' > s; chmod 111 s; ./s "$P"`},
	{"unreadable script of another user", `"${FOREIGN:-touch}" "$P"`}, // see TestOtherUser
	{"program that can't be read", `cp "$BASH" x; chmod 111 x; ./x -c 'touch "$P"; :'`},
	{"vfork", `perl -e 'system {"/usr/bin/touch"} "ls", $ENV{P}'`},
	{"thread", `$H thread /usr/bin/touch "$P"`},
	{"not dumpable", `$H dumpable /usr/bin/touch "$P"`},
	{"child of the parent", `exec $H clone /usr/bin/touch "$P"`},
	{"child of the parent in the call", `$H clone /usr/bin/touch "$P"; :`},
	{"orphan", `(setsid sh -c 'sleep 0.05; touch "$1"' x "$P" &)`},
	{"orphan without a program", `( (sleep 0.05; touch "$P") & )`},
	{"200 at once", `for i in {1..200}; do touch "$P" & done; wait`},
	{"its own line", `exec touch "$P" "$BASH_EXECUTION_STRING"`},
	{"name of a sandbox", `ln -s /usr/bin/touch bwrap; ./bwrap "$P"; exec -a codex-linux-sandbox touch "$P" --codex-run-as-x`},
	{"hook's line", `exec -a sh touch "$P" "hook --socket x"`},
	{"other root", `unshare -Urm bash -c 'mkdir r; mount --rbind / r; exec chroot r usr/bin/../bin/touch "$P"'`},
	{"other root and a link", `unshare -Urm bash -c 'mkdir r; mount --rbind / r; ln -s /usr/bin/touch x; cd r; exec chroot . "${OLDPWD#/}/x" "$P"'`},
	{"hidden working folder", `unshare -Urm bash -c 'mkdir d e; ln -s /usr/bin/touch d/x; ln -s /bin/true e/x; cd d; mount --bind ../e "$PWD"; ./x "$P"'`},
	{"made /proc", `unshare -Urm bash -c 'mount -t tmpfs x /proc; mkdir /proc/self; ln -s /usr/bin/touch /proc/self/exe; exec -a ls /proc/self/exe "$P"'`},
	{"made /dev/fd", `unshare -Urm bash -c 'exec 5< /bin/true; mount -t tmpfs x /dev; mkdir /dev/fd; ln -s /usr/bin/touch /dev/fd/5; exec -a ls /dev/fd/5 "$P"'`},
	{"made /proc/self/fd", `unshare -Urmpf --mount-proc bash -c 'exec 5< /bin/true; mkdir f; ln -s /usr/bin/touch f/5; mount --bind f /proc/$$/fd; exec -a ls /proc/self/fd/5 "$P"'`},
	{"made /proc/thread-self/fd", `unshare -Urmpf --mount-proc bash -c 'exec 5< /bin/true; mkdir f; ln -s /usr/bin/touch f/5; mount --bind f /proc/$$/task/$$/fd; exec -a ls /proc/thread-self/fd/5 "$P"'`},
	{"made /proc/PID/fd of the bridge", `S=$(cut -d ' ' -f 4 /proc/$PPID/stat) unshare -Urm bash -c 'exec 5< /usr/bin/touch; mkdir f; ln -s /bin/true f/5; mount --bind f /proc/$S/fd; exec -a ls /proc//self/fd/5 "$P"'`},
	{"descriptors of a thread", `$H thread-descriptors /usr/bin/touch /bin/true "$P"`},
	{"/proc/self/cwd in another process namespace", `unshare -Urmpf --mount-proc bash -c 'ln -s /usr/bin/touch x; exec -a ls /proc/self/cwd/x "$P"'`},
	{"/proc in several process namespaces", `unshare -Urmpf --mount-proc unshare -pf bash -c 'exec 5< /usr/bin/touch; mkdir p; mount -t proc p p; exec -a ls p/self/fd/5 "$P"'`},
	{"/dev/stdin in another process namespace", `unshare -Urpf --mount-proc bash -c 'exec -a ls /dev/stdin "$P" < /usr/bin/touch'`},
	{"other process namespace", `unshare -Urpf --mount-proc bash -c 'exec 5< /usr/bin/touch; exec -a ls /proc/self/fd/5 "$P"'`},
}

// However a line starts the program, it does not start, and without the decision it does.
func TestWays(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			if made, r := runLine(t, way.line, true); !made {
				t.Errorf("if all is allowed, it does not start: %s", r.out)
			}
			if made, r := runLine(t, way.line, false); made {
				t.Errorf("it started: %s\n%+v", r.out, r.starts)
			}
		})
	}
}
