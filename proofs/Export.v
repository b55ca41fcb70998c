(** Weights as text: every tensor of a transformer as its shape and its entries (row, column, value) that are not 0.

    Order: embed, pos, out, then for every layer: wq, wk, wv of every head, w1, b1, w2, b2. *)

From Coq Require Import ZArith List Arith.
From Unmask Require Import Layer Diffusion.
Import ListNotations.
Open Scope Z_scope.

Definition entry : Type := Z * Z * Z.
Definition tensor : Type := (Z * Z) * list entry.

Fixpoint nonzero (row column : Z) (x : vector) : list entry :=
  match x with
  | [] => []
  | 0 :: rest => nonzero row (column + 1) rest
  | a :: rest => (row, column, a) :: nonzero row (column + 1) rest
  end.

Fixpoint rows_from (row : Z) (rows : list vector) : list entry :=
  match rows with [] => [] | x :: rest => nonzero row 0 x ++ rows_from (row + 1) rest end.

Definition widest (rows : list vector) : Z := Z.of_nat (fold_right Nat.max 0%nat (map (@length Z) rows)).

(** A matrix that is given by its rows, and one that is given by its columns. *)
Definition by_rows (rows : list vector) : tensor := ((Z.of_nat (length rows), widest rows), rows_from 0 rows).
Definition by_columns (columns : list vector) : tensor :=
  ((widest columns, Z.of_nat (length columns)), map (fun '(column, row, a) => (row, column, a)) (rows_from 0 columns)).

Definition head_tensors (h : head) : list tensor := [by_columns (wq h); by_columns (wk h); by_columns (wv h)].
Definition layer_tensors (l : layer) : list tensor :=
  flat_map head_tensors (heads l)
  ++ [by_columns (w1 (feed_forward l)); by_rows [b1 (feed_forward l)];
      by_columns (w2 (feed_forward l)); by_rows [b2 (feed_forward l)]].
Definition tensors (t : transformer) : list tensor :=
  [by_rows (embed t); by_rows (positions t); by_rows (out t)] ++ flat_map layer_tensors (layers t).
