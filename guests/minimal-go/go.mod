module minimal-go

go 1.25

// This version fits the generated code and the official toolchain; later ones want a patched one.
require go.bytecodealliance.org/pkg v0.2.1
