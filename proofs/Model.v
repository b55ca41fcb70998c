(** The masked diffusion model of a regular language: max (1, N - 1) slots, planner and predictor on the queue. *)

From Coq Require Import ZArith List Arith.
From Unmask Require Import Monoid Vocabulary Coding Tree Diffusion Planner Predictor.
Import ListNotations.
Open Scope nat_scope.

(** A word of one letter has nothing to wait for. *)
Definition tree_children (length : nat) : list (nat -> nat) :=
  if 1 <? length then [child length 0; child length 1] else [].

Definition side_number (s : side) : nat := match s with left_side => 0 | right_side => 1 end.

Definition tree_model (p : Z) (m : monoid) (c : coding) (length : nat) : model := {|
  planner := readiness_planner p (symbols m) (mask_symbol m) (length + slots length) (tree_children length);
  predictor := product_predictor p m c (length + slots length) (1 <? length) (fun s => child length (side_number s));
  mask := mask_symbol m;
  padding := slots length |}.
