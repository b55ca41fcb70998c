(** Transformers and masked diffusion, as on the design page.

    H⁰   = clip (embed[token] + pos);  logits = out·h after the last layer
    y⁽⁰⁾ = m^P;  u = planner (w·y), x = predictor (w·y);  y'_i = x_i where u_i = 1, y_i elsewhere      T times

    Decoding is argmax over the logits, the lowest index wins a tie; the mask is left out of the predictor's argmax. *)

From Coq Require Import ZArith Lia List Arith.
From Unmask Require Import Numbers Exponential Layer.
Import ListNotations.
Open Scope Z_scope.

(** [embed] and [out] have one row per symbol, [positions] one per position. *)
Record transformer := { embed : list vector; positions : list vector; layers : list layer; out : list vector }.

Record model := { planner : transformer; predictor : transformer; mask : nat; padding : nat }.

(** The number of the first largest entry: [champion] is that of the [best] so far, [next] that of the next one. *)
Fixpoint argmax_from (champion : nat) (best : Z) (next : nat) (xs : list Z) : nat :=
  match xs with
  | [] => champion
  | x :: rest => if best <? x then argmax_from next x (S next) rest else argmax_from champion best (S next) rest
  end.
Definition argmax (xs : list Z) : nat := match xs with [] => 0%nat | x :: rest => argmax_from 0 x 1 rest end.

(** An entry that no other can lose against: below every number of F_p. *)
Definition without (p : Z) (symbol : nat) (xs : list Z) : list Z :=
  map (fun k => if Nat.eqb k symbol then - bound p - 1 else nth k xs 0) (seq 0 (length xs)).

Section Diffusion.
  Variables (p : Z) (exp : exponential p).

  Definition embedded (t : transformer) (tokens : list nat) : list vector :=
    zip_with (fun token position => plus p (nth token (embed t) []) position) tokens (positions t).

  (** The logits of every row; None is the error of a head that attends to nothing. *)
  Definition logits (t : transformer) (tokens : list nat) : option (list vector) :=
    option_map (map (fun h => times p h (out t))) (run_layers p exp (layers t) (embedded t tokens)).

  Definition step (m : model) (word canvas : list nat) : option (list nat) :=
    match logits (planner m) (word ++ canvas), logits (predictor m) (word ++ canvas) with
    | Some u, Some x =>
        Some (map (fun slot =>
                     let row := (length word + slot)%nat in
                     if Nat.eqb (argmax (nth row u [])) 1 then argmax (without p (mask m) (nth row x []))
                     else nth slot canvas (mask m))
                  (seq 0 (length canvas)))
    | _, _ => None
    end.

  Fixpoint run (m : model) (word : list nat) (steps : nat) : option (list nat) :=
    match steps with
    | 0%nat => Some (repeat (mask m) (padding m))
    | S steps => match run m word steps with None => None | Some canvas => step m word canvas end
    end.
End Diffusion.

(** A largest entry that no other reaches is found. *)
Lemma argmax_from_stays : forall xs champion best next,
  (forall k, (k < length xs)%nat -> nth k xs 0 < best) -> argmax_from champion best next xs = champion.
Proof.
  induction xs as [|x xs IH]; intros champion best next H; simpl; [reflexivity|].
  pose proof (H 0%nat ltac:(simpl; lia)) as H0. simpl in H0. destruct (Z.ltb_spec best x); [lia|].
  apply IH. intros k Hk. apply (H (S k)). simpl. lia.
Qed.

Lemma argmax_from_unique : forall xs champion best next k, (k < length xs)%nat -> best < nth k xs 0 ->
  (forall j, (j < length xs)%nat -> j <> k -> nth j xs 0 < nth k xs 0) ->
  argmax_from champion best next xs = (next + k)%nat.
Proof.
  induction xs as [|x xs IH]; intros champion best next k Hk Hbest Hothers; simpl in Hk; [lia|].
  destruct k as [|k]; simpl in *.
  - destruct (Z.ltb_spec best x); [|lia]. rewrite Nat.add_0_r. apply argmax_from_stays.
    intros j Hj. apply (Hothers (S j)); lia.
  - assert (Hrest : forall j, (j < length xs)%nat -> j <> k -> nth j xs 0 < nth k xs 0).
    { intros j Hj Hjk. apply (Hothers (S j)); lia. }
    pose proof (Hothers 0%nat ltac:(lia) ltac:(lia)) as Hx.
    replace (next + S k)%nat with (S next + k)%nat by lia.
    destruct (best <? x); apply IH; try assumption; lia.
Qed.

Theorem argmax_unique : forall xs target, (target < length xs)%nat ->
  (forall k, (k < length xs)%nat -> k <> target -> nth k xs 0 < nth target xs 0) -> argmax xs = target.
Proof.
  intros [|x xs] target Hrange Hothers; simpl in Hrange; [lia|]. unfold argmax. destruct target as [|target].
  - apply argmax_from_stays. intros k Hk. apply (Hothers (S k)); simpl; lia.
  - rewrite argmax_from_unique with (k := target); [reflexivity | lia | |].
    + apply (Hothers 0%nat); simpl; lia.
    + intros j Hj Hjk. apply (Hothers (S j)); simpl; lia.
Qed.
