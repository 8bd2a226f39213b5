  ;; What makes a plugin of a scoring module: the input is copied in, the result
  ;; out, through the kernel and eight bytes at a time, as Extism's own libraries do.
  (func (export "score") (result i32)
    (local $at i32) (local $from i32) (local $n i32) (local $i i32) (local $out i64)
    (local.set $at (call $scorer_v1_input))
    (local.set $n (i32.wrap_i64 (call $input_length)))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (i64.store (i32.add (local.get $at) (local.get $i)) (call $input_load_u64 (i64.extend_i32_u (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $more)))
    (local.set $from (call $scorer_v1_score))
    (local.set $n (i32.add (i32.const 16) (i32.mul (i32.const 8) (i32.load (i32.add (local.get $from) (i32.const 8))))))
    (local.set $out (call $alloc (i64.extend_i32_u (local.get $n))))
    (local.set $i (i32.const 0))
    (block $written
      (loop $more
        (br_if $written (i32.ge_u (local.get $i) (local.get $n)))
        (call $store_u64 (i64.add (local.get $out) (i64.extend_i32_u (local.get $i))) (i64.load (i32.add (local.get $from) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $more)))
    (call $output_set (local.get $out) (i64.extend_i32_u (local.get $n)))
    (i32.const 0))
