package store_test

import (
	"path/filepath"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// operation is one operation of SQLite on a file.
type operation struct {
	n      int // starts at 1
	kind   string
	file   string // name in the folder
	offset int64
	data   []byte // of a write; valid only during the call
	size   int64  // new size of a truncated file
}

// disk is SQLite's file system in this process: the operating system's, with injected faults.
var disk struct {
	mu    sync.Mutex
	judge func(operation) (code int32) // nil: no faults
	n     int                          // number of operations passed to judge
	files map[uintptr]openFile         // by SQLite's address of the file
	ours  map[uintptr]uintptr          // table of functions by the address of the system's table
}

type openFile struct {
	name string
	*sqlite3.Tsqlite3_io_methods
}

func fileAt(p uintptr) openFile {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	return disk.files[p]
}

// withDisk runs f, and judge decides the result of each operation in the meantime. A successful
// sync is skipped: no test loses power.
func withDisk(judge func(operation) int32, f func()) {
	disk.mu.Lock()
	disk.judge, disk.n = judge, 0
	disk.mu.Unlock()
	defer func() {
		disk.mu.Lock()
		disk.judge = nil
		disk.mu.Unlock()
	}()
	f()
}

// apply calls judge. done means that the operation must not run.
func apply(o operation, file uintptr) (code int32, done bool) {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	if disk.judge == nil {
		return sqlite3.SQLITE_OK, false
	}
	disk.n++
	o.n = disk.n
	if file != 0 {
		o.file = disk.files[file].name
	}
	code = disk.judge(o)
	return code, code != sqlite3.SQLITE_OK || o.kind == "sync"
}

// system is the real file system.
var system *sqlite3.Tsqlite3_vfs

func at[T any](p uintptr) *T { return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

func code[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// init registers the file system as SQLite's default.
func init() {
	disk.files, disk.ours = make(map[uintptr]openFile), make(map[uintptr]uintptr)
	tls := libc.NewTLS()
	system = at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*system)))
	ours := at[sqlite3.Tsqlite3_vfs](p)
	*ours = *system
	name, err := libc.CString("judged")
	if err != nil {
		panic(err)
	}
	ours.FzName = name
	ours.FxOpen, ours.FxDelete, ours.FxAccess = code(diskOpen), code(diskDelete), code(diskAccess)
	if sqlite3.Xsqlite3_vfs_register(tls, p, 1) != sqlite3.SQLITE_OK {
		panic("SQLite takes no disk of ours")
	}
}

func baseName(path uintptr) string {
	if path == 0 {
		return ""
	}
	return filepath.Base(libc.GoString(path))
}

func diskOpen(tls *libc.TLS, vfs, path, file uintptr, flags int32, out uintptr) int32 {
	name := baseName(path)
	if code, done := apply(operation{kind: "open", file: name}, 0); done {
		at[sqlite3.Tsqlite3_file](file).FpMethods = 0
		return code
	}
	r := call[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](system.FxOpen)(tls, vfs, path, file, flags, out)
	if r != sqlite3.SQLITE_OK {
		return r
	}
	disk.mu.Lock()
	defer disk.mu.Unlock()
	f := at[sqlite3.Tsqlite3_file](file)
	theirs := at[sqlite3.Tsqlite3_io_methods](f.FpMethods)
	p, known := disk.ours[f.FpMethods]
	if !known {
		p = libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*theirs)))
		ours := at[sqlite3.Tsqlite3_io_methods](p)
		*ours = *theirs
		ours.FxClose, ours.FxRead, ours.FxWrite, ours.FxTruncate = code(diskClose), code(diskRead), code(diskWrite), code(diskTruncate)
		ours.FxSync, ours.FxFileSize, ours.FxShmMap = code(diskSync), code(diskSize), code(diskShmMap)
		disk.ours[f.FpMethods] = p
	}
	f.FpMethods = p
	disk.files[file] = openFile{name, theirs}
	return r
}

func diskDelete(tls *libc.TLS, vfs, path uintptr, sync int32) int32 {
	if code, done := apply(operation{kind: "delete", file: baseName(path)}, 0); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32) int32](system.FxDelete)(tls, vfs, path, sync)
}

func diskAccess(tls *libc.TLS, vfs, path uintptr, flags int32, out uintptr) int32 {
	if code, done := apply(operation{kind: "access", file: baseName(path)}, 0); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, uintptr) int32](system.FxAccess)(tls, vfs, path, flags, out)
}

func diskClose(tls *libc.TLS, file uintptr) int32 {
	disk.mu.Lock()
	f := disk.files[file]
	delete(disk.files, file)
	disk.mu.Unlock()
	return call[func(*libc.TLS, uintptr) int32](f.FxClose)(tls, file)
}

func diskRead(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32 {
	if code, done := apply(operation{kind: "read", offset: offset}, file); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](fileAt(file).FxRead)(tls, file, data, size, offset)
}

// diskWrite writes half of the data of a failed write: a write may be torn.
func diskWrite(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32 {
	code, done := apply(operation{kind: "write", offset: offset, data: unsafe.Slice(at[byte](data), size)}, file)
	if done {
		size /= 2
	}
	r := call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](fileAt(file).FxWrite)(tls, file, data, size, offset)
	if done {
		return code
	}
	return r
}

func diskTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	if code, done := apply(operation{kind: "truncate", size: size}, file); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, int64) int32](fileAt(file).FxTruncate)(tls, file, size)
}

func diskSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	if code, done := apply(operation{kind: "sync"}, file); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, int32) int32](fileAt(file).FxSync)(tls, file, flags)
}

func diskSize(tls *libc.TLS, file, out uintptr) int32 {
	if code, done := apply(operation{kind: "size"}, file); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr) int32](fileAt(file).FxFileSize)(tls, file, out)
}

func diskShmMap(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32 {
	if code, done := apply(operation{kind: "map"}, file); done {
		return code
	}
	return call[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](fileAt(file).FxShmMap)(tls, file, region, size, extend, out)
}
