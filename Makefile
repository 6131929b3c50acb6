# `make play` and `make test` need nothing but this checkout: they install what is missing and build first.
# `make` only builds, `make clean` forgets what was built.
.PHONY: build play test clean

build:
	@scripts/build develop nutmeg

play:
	@scripts/packages packages.txt
	@scripts/build develop nutmeg
	@build/nutmeg play

test:
	@scripts/packages packages.txt packages-test.txt
	@scripts/npm tests/interop web
	@scripts/build develop all
	@scripts/tests develop

clean:
	@rm -rf build build-*
