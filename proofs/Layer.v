(** One layer of a transformer, as on the design page, in the arithmetic of F_p.

    Q, K, V = H·Wq, H·Wk, H·Wv
    e_ij    = exp ⟨Q_i, K_j⟩,   Z_i = SUM_j e_ij                       Z_i = 0 is an error
    head_i  = SUM_j [e_ij / Z_i]·V_j
    G       = (SUM over heads) + H
    H'      = G + ReLU (ReLU (G·W1 + b1)·W2 + b2)

    A row is a list of integers; a weight matrix is the list of its columns, so that x·W is the list of the inner
    products of x with them. Attention is unmasked: every row sees every row. *)

From Coq Require Import ZArith List.
From Unmask Require Import Numbers Sums Exponential.
Import ListNotations.
Open Scope Z_scope.

Definition vector := list Z.
Definition at_column (x : vector) (k : nat) : Z := nth k x 0.

(** f applied entry by entry to two lists. *)
Definition zip_with {A B C : Type} (f : A -> B -> C) (xs : list A) (ys : list B) : list C :=
  map (fun pair => f (fst pair) (snd pair)) (combine xs ys).

(** ⟨x, y⟩ = SUM_k [x_k·y_k]: every product is rounded by itself. *)
Definition inner (p : Z) (x y : vector) : Z := sum p (zip_with (multiply p) x y).
Definition times (p : Z) (x : vector) (columns : list vector) : vector := map (inner p x) columns.
Definition plus (p : Z) (x y : vector) : vector := zip_with (add p) x y.

Record head := { wq : list vector; wk : list vector; wv : list vector }.
Record mlp := { w1 : list vector; b1 : vector; w2 : list vector; b2 : vector }.
Record layer := { heads : list head; feed_forward : mlp }.

Section Layer.
  Variables (p : Z) (exp : exponential p).

  Definition exponentials (h : head) (own : vector) (rows : list vector) : list Z :=
    map (fun row => exp (inner p (times p own (wq h)) (times p row (wk h)))) rows.

  (** What a head gives to the row [own] of all [rows]; None is the error "attends to nothing". *)
  Definition attend (h : head) (own : vector) (rows : list vector) : option vector :=
    let exps := exponentials h own rows in
    let z := sum p exps in
    if z =? 0 then None
    else
      let weights := map (fun x => divide p x z) exps in
      Some (map (fun column => inner p weights (map (fun row => inner p row column) rows)) (wv h)).

  (** Heads are summed in order, starting from zeros. *)
  Fixpoint sum_of_heads (total : vector) (hs : list head) (own : vector) (rows : list vector) : option vector :=
    match hs with
    | [] => Some total
    | h :: rest => match attend h own rows with
                   | None => None
                   | Some result => sum_of_heads (plus p total result) rest own rows
                   end
    end.

  Definition hidden_units (m : mlp) (g : vector) : vector := map relu (plus p (times p g (w1 m)) (b1 m)).
  Definition mlp_output (m : mlp) (g : vector) : vector :=
    map relu (plus p (times p (hidden_units m g) (w2 m)) (b2 m)).

  Definition layer_row (l : layer) (rows : list vector) (own : vector) : option vector :=
    match sum_of_heads (map (fun _ => 0) own) (heads l) own rows with
    | None => None
    | Some total => let g := plus p total own in Some (plus p g (mlp_output (feed_forward l) g))
    end.

  (** A list of results, or the error if one of them is an error. *)
  Fixpoint all_or_error {A : Type} (results : list (option A)) : option (list A) :=
    match results with
    | [] => Some []
    | None :: _ => None
    | Some x :: rest => option_map (cons x) (all_or_error rest)
    end.

  Definition run_layer (rows : list vector) (l : layer) : option (list vector) :=
    all_or_error (map (layer_row l rows) rows).

  Fixpoint run_layers (ls : list layer) (rows : list vector) : option (list vector) :=
    match ls with
    | [] => Some rows
    | l :: rest => match run_layer rows l with None => None | Some next => run_layers rest next end
    end.
End Layer.
