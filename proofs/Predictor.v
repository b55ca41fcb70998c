(** The predictor: a row multiplies the elements in two other rows; the last row gives the verdict instead.

    layer 1   LOOKUP both factors; MLP: which result features their product lacks, and whether both factors were there
    layer 2   MLP: the element with these features, or in the last row accept/reject

    Registers: one, last row, inner row, masked, here, left address, right address (bits each), the own left and right
    features, the features of the left and of the right factor, left masked, right masked, ready, missing
    (one per result feature), product twice (one per element), accepted (2), rejected (2). *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Layer Forms GadgetEq GadgetLogic GadgetBuffers Diffusion Codes Programs.
From Unmask Require Import Monoid Vocabulary Coding.
Import ListNotations.
Open Scope Z_scope.

Inductive side := left_side | right_side.

Section Predictor.
  (** [waits]: a row is undecided while one of its factors is masked. *)
  Variables (p : Z) (m : monoid) (c : coding) (rows : nat) (waits : bool) (factor : side -> nat -> nat).

  Definition bits : nat := bits_for rows.
  Definition features (s : side) : nat :=
    match s with left_side => left_features c | right_side => right_features c end.
  Definition features_of (s : side) : nat -> list nat :=
    match s with left_side => left_of c | right_side => right_of c end.

  Definition always : nat := 0.
  Definition last_row : nat := 1.
  Definition inner_row : nat := 2.
  Definition masked : nat := 3.
  Definition here : nat := 4.
  Definition address (s : side) : nat := match s with left_side => 4 + bits | right_side => 4 + 2 * bits end.
  Definition own (s : side) : nat :=
    match s with left_side => 4 + 3 * bits | right_side => 4 + 3 * bits + left_features c end.
  Definition fetched (s : side) : nat :=
    match s with
    | left_side => 4 + 3 * bits + left_features c + right_features c
    | right_side => 4 + 3 * bits + 2 * left_features c + right_features c
    end.
  Definition factors_end : nat := (4 + 3 * bits + 2 * left_features c + 2 * right_features c)%nat.
  Definition absent (s : side) : nat := match s with left_side => factors_end | right_side => factors_end + 1 end.
  Definition ready_column : nat := (factors_end + 2)%nat.
  Definition missing : nat := (factors_end + 3)%nat.
  Definition product_copy (s : side) : nat :=
    match s with
    | left_side => factors_end + 3 + left_features c
    | right_side => factors_end + 3 + left_features c + size m
    end.
  Definition accepted : nat := (factors_end + 3 + left_features c + 2 * size m)%nat.
  Definition rejected : nat := (accepted + 2)%nat.
  Definition width : nat := (accepted + 4)%nat.

  Definition shifted (first : nat) (weight : Z) (columns : list nat) : form :=
    map (fun k => ((first + k)%nat, weight)) columns.

  Definition predictor_embedding (symbol : nat) : form :=
    match element_of m symbol with
    | Some a => (if Nat.eqb symbol (mask_symbol m) then [(masked, one p)] else [])
                ++ shifted (own left_side) (one p) (left_of c a) ++ shifted (own right_side) (one p) (right_of c a)
    | None => []
    end.

  Definition predictor_position (i k : nat) : Z :=
    if (k =? always)%nat then one p
    else if (k =? last_row)%nat then (if (i =? rows - 1)%nat then one p else 0)
    else if (k =? inner_row)%nat then (if (i =? rows - 1)%nat then 0 else one p)
    else if (k =? masked)%nat then 0
    else if (k <? address left_side)%nat then signed_bit p bits i (k - here)
    else if (k <? address right_side)%nat then signed_bit p bits (factor left_side i) (k - address left_side)
    else if (k <? own left_side)%nat then signed_bit p bits (factor right_side i) (k - address right_side)
    else 0.

  (** Layer 1. *)
  Definition fetch (s : side) : head :=
    head_of width (eq_columns p always (seq (address s) bits) (seq here bits))
            (fun k => if Nat.eqb k (absent s) then [(masked, one p)]
                      else copy_block (own s) (fetched s) (features s) (one p) k).

  Definition waiting : list nat := if waits then [absent left_side; absent right_side] else [].

  (** left_l + right_r - 1 for a triple (l, r, g). *)
  Definition triple_unit (t : nat * nat * nat) : unit_pair :=
    let '(l, r, _) := t in
    ([((fetched left_side + l)%nat, one p); ((fetched right_side + r)%nat, one p)], - one p).

  (** The units of the triples with result g. *)
  Definition units_of (g : nat) : list nat :=
    filter (fun u => Nat.eqb (result (nth u (triples c) (0, 0, 0)%nat)) g) (seq 0 (length (triples c))).

  Definition first_layer : layer := {|
    heads := [fetch left_side; fetch right_side];
    feed_forward := mlp_of width (map triple_unit (triples c) ++ [nor_unit p waiting])
      (fun k => if (k =? ready_column)%nat then ([(length (triples c), one p)], 0)
                else if ((missing <=? k) && (k <? missing + left_features c))%nat
                     then nor_unit p (units_of (k - missing))
                else ([], 0)) |}.

  (** Layer 2. *)
  Definition lacks (features : list nat) : list nat := map (fun g => (missing + g)%nat) features.

  Definition element_unit (a : nat) : unit_pair := and_unit p [last_row] ready_column (lacks (result_of c a)).
  Definition verdict_unit (d : disjunct) : unit_pair :=
    match lacking d with
    | None => and_unit p (inner_row :: waiting) ready_column (lacks (present d))
    | Some x => and_unit p (inner_row :: waiting ++ lacks (filter (fun g => g <? x)%nat (present d)))
                           (missing + x) (lacks (filter (fun g => x <? g)%nat (present d)))
    end.
  Definition sum_of_units (first count : nat) : unit_pair := (map (fun u => (u, one p)) (seq first count), 0).

  Definition second_layer : layer := {|
    heads := [];
    feed_forward :=
      mlp_of width (map element_unit (seq 0 (size m)) ++ map verdict_unit (accept_when c)
                    ++ map verdict_unit (reject_when c))
        (fun k => if (k <? product_copy left_side)%nat then ([], 0)
                  else if (k <? product_copy right_side)%nat then ([((k - product_copy left_side)%nat, one p)], 0)
                  else if (k <? accepted)%nat then ([((k - product_copy right_side)%nat, one p)], 0)
                  else if (k <? rejected)%nat then sum_of_units (size m) (length (accept_when c))
                  else sum_of_units (size m + length (accept_when c)) (length (reject_when c))) |}.

  (** Logits: -B for symbols out of place, and -B for all once a row is decided, from which B twice lifts the chosen
      one. *)
  Definition predictor_output (symbol : nat) : form :=
    match element_of m symbol with
    | Some a => if Nat.eqb (symbol_of m a) symbol
                then [(last_row, - bound p); (ready_column, - bound p);
                      ((product_copy left_side + a)%nat, bound p); ((product_copy right_side + a)%nat, bound p)]
                else [(always, - bound p)]
    | None => let columns := if Nat.eqb symbol (accept_symbol m) then accepted else rejected in
              [(inner_row, - bound p); (ready_column, - bound p); (columns, bound p); ((columns + 1)%nat, bound p)]
    end.

  Definition product_predictor : transformer :=
    transformer_of width (symbols m) rows (symbols m) predictor_embedding predictor_position
                   [first_layer; second_layer] predictor_output.
End Predictor.
