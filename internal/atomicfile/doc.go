// Package atomicfile replaces files so that a crash leaves the old content or the new, and no part of it.
package atomicfile
