;; A scorer of one signal, written by hand from ABI.md: 50 words mark 0, 300
;; words mark 1000, a straight line between; a gate below 20 words.
(module
  (memory (export "memory") 1 1)

  ;; One input: its value at 64, its state at 72.
  (func (export "scorer_v1_input") (result i32)
    (i32.const 64))

  ;; The result stands at 128: score, gates, number of signals, flags, mark, 0.
  (func (export "scorer_v1_score") (result i32)
    (local $words i64)
    (local $mark i32)
    (i32.store (i32.const 136) (i32.const 1))
    (if (i32.ne (i32.load8_u (i32.const 72)) (i32.const 1))
      (then
        ;; Not applicable is -1, unknown is -2; there is no score without a mark.
        (i32.store (i32.const 128) (i32.const -1))
        (i32.store (i32.const 144)
          (select (i32.const -1) (i32.const -2)
            (i32.eq (i32.load8_u (i32.const 72)) (i32.const 2))))
        (return (i32.const 128))))
    (local.set $words (i64.load (i32.const 64)))
    (local.set $mark (call $line (local.get $words)))
    (i32.store (i32.const 128) (i32.mul (local.get $mark) (i32.const 100)))
    (i32.store (i32.const 132) (i64.lt_s (local.get $words) (i64.const 20000)))
    (i32.store (i32.const 144) (local.get $mark))
    (i32.const 128))

  ;; (words - 50,000) / 250 within 0 and 1000; words are in thousandths.
  (func $line (param $words i64) (result i32)
    (if (i64.le_s (local.get $words) (i64.const 50000))
      (then (return (i32.const 0))))
    (if (i64.ge_s (local.get $words) (i64.const 300000))
      (then (return (i32.const 1000))))
    (i32.wrap_i64
      (i64.div_s (i64.sub (local.get $words) (i64.const 50000)) (i64.const 250)))))
