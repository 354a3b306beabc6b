package expiry

import (
	"iter"
	"strings"

	"tidemark/shared/manifest"
)

// references remembers what each verified statement refers to, by the statement's digest: it never changes. Manifests of one
// target share most of their objects, and an archive has thousands of manifests with thousands of objects: each object is
// held once, and a manifest is a list of numbers.
type references struct {
	objects []reference
	numbers map[reference]uint32
	of      map[manifest.Digest][]uint32
}

// reference is as much of an object as its presence is judged by.
type reference struct {
	digest manifest.Digest
	size   int64
}

func newReferences() references {
	return references{numbers: map[reference]uint32{}, of: map[manifest.Digest][]uint32{}}
}

// add remembers what a statement refers to.
func (r *references) add(statement manifest.Digest, objects []manifest.Object) {
	numbers := make([]uint32, 0, len(objects))
	for _, object := range objects {
		key := reference{object.Digest, object.Size}
		number, known := r.numbers[key]
		if !known {
			key.digest = manifest.Digest(strings.Clone(object.Digest.String())) // what was read may be a piece of the whole body
			number = uint32(len(r.objects))                                     //nolint:gosec // four billion objects would not fit into memory
			r.numbers[key], r.objects = number, append(r.objects, key)
		}
		numbers = append(numbers, number)
	}
	r.of[statement] = numbers
}

// known says whether a statement was added.
func (r *references) known(statement manifest.Digest) bool {
	_, known := r.of[statement]
	return known
}

// each are the objects that a statement refers to, none for one that was not added. They have a digest and a size and nothing
// else.
func (r *references) each(statement manifest.Digest) iter.Seq[manifest.Object] {
	return func(yield func(manifest.Object) bool) {
		for _, number := range r.of[statement] {
			object := r.objects[number]
			if !yield(manifest.Object{Digest: object.digest, Size: object.size}) {
				return
			}
		}
	}
}
