/* The committed PTX as a NUL-terminated string, which is what cuModuleLoadData takes. */
    .section .rodata
    .balign 16
    .global zerohop_bench_kernels
    .hidden zerohop_bench_kernels
zerohop_bench_kernels:
    .incbin "window_sums.ptx"
    .byte 0
    .section .note.GNU-stack, "", @progbits
