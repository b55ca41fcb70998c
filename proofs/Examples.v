(** Every hypothesis has an instance: each theorem is applied to rows, weights and words that are written out, at p = 2
    with the real exponential; and the whole model is run by the kernel. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Flags Exponential CorrectRounding ExponentialTables Layer Forms Match Specification.
From Unmask Require Import GadgetEq GadgetHide GadgetBoost GadgetFocus GadgetLogic GadgetThreshold GadgetBuffers.
From Unmask Require Import Counterexamples Monoid Automaton Transformations Coding Vocabulary Diffusion Tree Model RegularLanguage.
Import ListNotations.
Open Scope Z_scope.

Ltac in_range := unfold representable; vm_compute; intuition discriminate.

(** LOOKUP: row 0 holds the address 1, and gets -B from row 1, exactly. *)
Example lookup_example :
  attend 2 exponential_2 (head_of 4 (eq_columns 2 0 [2%nat] [1%nat]) (copy_block 3 3 1 (one 2)))
         (reader 2) [reader 2; writer 2]
  = Some [0; 0; 0; - bound 2].
Proof.
  rewrite lookup_copies with (target := 1%nat); [vm_compute; reflexivity | lia | apply reader_points_to_writer; lia].
Qed.

Example lookup_value_example : inner 2 (writer 2) (dense 4 [(3%nat, one 2)]) = - bound 2.
Proof. rewrite lookup_value; [reflexivity | lia | lia | reflexivity | in_range]. Qed.

(** HIDE, BOOST and FOCUS on three rows. Columns: always, flag or code, score, value. *)
Definition three_rows : list vector := [[4; 0; 4; 3]; [4; 4; 8; 5]; [4; 0; -4; 7]].
Definition plain : list column_pair := [([(2%nat, 4)], [(2%nat, 4)])].
Definition value_only (k : nat) : form := if Nat.eqb k 3 then [(3%nat, 4)] else [].

Lemma plain_fits : fit 4 plain.
Proof. repeat constructor; simpl; lia. Qed.

Example hide_example : forall own, In own three_rows ->
  attend 2 exponential_2 (head_of 4 (plain ++ hide_columns 2 0 1) value_only) own three_rows
  = attend 2 exponential_2 (head_of 4 plain value_only) own [[4; 0; 4; 3]; [4; 0; -4; 7]].
Proof.
  intros own Hown. rewrite hide_makes_invisible; [reflexivity | lia | apply plain_fits | lia | lia | | |];
    try (destruct Hown as [<-|[<-|[<-|[]]]]; reflexivity).
  intros row [<-|[<-|[<-|[]]]]; (split; [reflexivity|]); [left | right | left]; reflexivity.
Qed.

Example boost_example :
  attend 2 exponential_2 (head_of 4 ((plain ++ boost_columns 2 0 1) ++ hide_columns 2 0 1) value_only)
         [4; 4; 8; 5] three_rows <> None
  /\ attend 2 exponential_2 (head_of 4 (plain ++ boost_columns 2 0 1) value_only) [4; 0; 4; 3] three_rows
     = attend 2 exponential_2 (head_of 4 plain value_only) [4; 0; 4; 3] three_rows.
Proof.
  split.
  - apply boost_never_divides_by_zero; try lia; try reflexivity; [apply plain_fits | |].
    + intros row [<-|[<-|[<-|[]]]]; (split; [reflexivity|]); (split; [reflexivity|]); [left | right | left];
        reflexivity.
    + exists [4; 0; 4; 3]. split; [left|]; reflexivity.
  - apply boost_leaves_unflagged; try lia; try reflexivity; [apply plain_fits|].
    intros row [<-|[<-|[<-|[]]]]; split; reflexivity.
Qed.

(** A code of one bit in column 1, now ±1. *)
Definition coded_rows : list vector := [[4; 4; 4; 3]; [4; -4; 8; 5]; [4; 4; -4; 7]].

Example focus_example :
  attend 2 exponential_2 (head_of 4 (plain ++ focus_columns 2 2 0 [1%nat] [1%nat]) value_only) [4; 4; 4; 3] coded_rows
  = attend 2 exponential_2 (head_of 4 plain value_only) [4; 4; 4; 3] [[4; 4; 4; 3]; [4; 4; -4; 7]].
Proof.
  rewrite focus_restricts; [reflexivity | lia | left; lia | apply plain_fits | lia | | | reflexivity | reflexivity | |];
    try (repeat constructor; lia).
  intros row [<-|[<-|[<-|[]]]]; repeat split; repeat constructor; vm_compute; tauto.
Qed.

(** The same at p = 1, where 1 is the integer 2, with a third copy. *)
Example focus_at_p_1_example :
  attend 1 exponential_1 (head_of 4 ([([(2%nat, 2)], [(2%nat, 2)])] ++ focus_columns 1 3 0 [1%nat] [1%nat])
                                  (fun k => [(k, 2)]))
         [2; 2; 2; 1] [[2; 2; 2; 1]; [2; -2; 2; 3]; [2; 2; 2; 1]]
  = attend 1 exponential_1 (head_of 4 [([(2%nat, 2)], [(2%nat, 2)])] (fun k => [(k, 2)]))
           [2; 2; 2; 1] [[2; 2; 2; 1]; [2; 2; 2; 1]].
Proof.
  rewrite focus_restricts; [reflexivity | lia | right; reflexivity | | lia | | | reflexivity | reflexivity | |];
    try (repeat constructor; simpl; lia).
  intros row [<-|[<-|[<-|[]]]]; repeat split; repeat constructor; vm_compute; tauto.
Qed.

(** Logic over five flags, more than F_2 can count. *)
Example nor_example : unit_value 2 (nor_unit 2 [0; 1; 2; 3; 4]%nat) [4; 4; 4; 4; 4] = 0
                      /\ unit_value 2 (nor_unit 2 [0; 1; 2; 3; 4]%nat) [0; 0; 0; 0; 0] = one 2.
Proof. split; rewrite nor_is_nor by (try lia; repeat (constructor; [vm_compute; tauto|]); constructor); reflexivity.
Qed.

Example and_example : unit_value 2 (and_unit 2 [0; 1]%nat 2 [3; 4]%nat) [0; 0; 4; 0; 0] = one 2.
Proof. rewrite and_is_and by (try lia; repeat (constructor; [vm_compute; tauto|]); constructor). reflexivity. Qed.

(** The textbook AND at p = 2: right with three literals, wrong with four. *)
Example textbook_and_example : unit_value 2 (textbook_and 2 3) [4; 4; 4] = one 2
                               /\ unit_value 2 (textbook_and 2 4) [4; 4; 4; 4] = 3.
Proof.
  split.
  - rewrite textbook_and_below; [reflexivity | lia | reflexivity|].
    intros [|[|[|k]]] Hk; try lia; right; reflexivity.
  - apply (textbook_and_fails 2); [lia|]. intros [|[|[|[|k]]]] Hk; try reflexivity. vm_compute in Hk. lia.
Qed.

(** Tests of numbers: column 2 becomes [x > 0], column 3 becomes [x <= y], for x = 2^-p and y = 0. *)
Definition testing_mlp : mlp :=
  mlp_of 4 [below_ulp 2 0; below_ulp 2 0; difference 2 0 1; difference 2 0 1]
    (fun k => if Nat.eqb k 2 then vetoed_by 2 0 1 else if Nat.eqb k 3 then vetoed_by 2 2 3 else ([], 0)).

Lemma testing_fits :
  Forall (fun u => fits 4 (fst u)) [below_ulp 2 0; below_ulp 2 0; difference 2 0 1; difference 2 0 1].
Proof. repeat constructor; simpl; lia. Qed.

Example threshold_example : at_column (mlp_output 2 testing_mlp [1; 0; 0; 0]) 2 = one 2
                            /\ at_column (mlp_output 2 testing_mlp [1; 0; 0; 0]) 3 = 0.
Proof.
  split.
  - unfold testing_mlp. rewrite thresh_is_positive with (first := 0%nat) (second := 1%nat) (x := 0%nat);
      try lia; try reflexivity; [apply testing_fits | in_range].
  - unfold testing_mlp. rewrite compare_is_at_most with (first := 2%nat) (second := 3%nat) (x := 0%nat) (y := 1%nat);
      try lia; try reflexivity; [apply testing_fits | in_range | in_range].
Qed.

(** Two buffers: B is overwritten by -B. Columns: always, own code, address, first buffer, second buffer. *)
Definition from_row : vector := [4; 4; 4; -15; 0].
Definition to_row : vector := [4; -4; 4; 15; 0].

Ltac points :=
  split; [repeat constructor; lia|]; split; [repeat split; repeat constructor; simpl; tauto|];
  split; [intros row [<-|[<-|[]]]; repeat split; repeat constructor; simpl; tauto|]; split; [simpl; lia|];
  intros [|[|j]] Hj; simpl in Hj; try lia; reflexivity.

Example buffers_example : exists result,
  layer_row 2 exponential_2 (overwrite_layer 2 5 0 [2%nat] [1%nat] [1%nat] 3 3 4 1) [to_row; from_row] to_row
  = Some result
  /\ at_column result 4 = -15 /\ at_column result 3 = 0.
Proof.
  destruct (two_buffers_overwrite 2 ltac:(lia) exponential_2 5 0 [2%nat] [1%nat] [1%nat] 3 3 4 1
              to_row [to_row; from_row] 1 0)
    as [result [Hrun [Hblock _]]]; try (simpl; lia); try reflexivity.
  - points.
  - points.
  - intros row [|[|[|[|[|k]]]]] [<-|[<-|[]]]; try in_range; destruct k; in_range.
  - intros [|t] Ht; [reflexivity | lia].
  - exists result. split; [assumption|]. apply (Hblock 0%nat). lia.
Qed.

(** A regular language: the number of letters 1 is even. The monoid is Z/2, the letters 0 and 1 are its elements. *)
Definition parity : monoid := of_table [[0; 1]; [1; 0]]%nat [0; 1]%nat [0]%nat.
Definition parity_automaton : automaton := {| start := 0; table := [[0; 1]; [1; 0]]%nat; final := [0]%nat |}.

Lemma parity_is_lawful : lawful parity.
Proof. apply laws_hold_lawful. reflexivity. Qed.

Example parity_is_decided : forall word, is_word parity word -> (1 <= length word)%nat ->
  exists canvas,
    run 2 exponential_2 (tree_model 2 parity (table_coding parity) (length word)) word (steps (length word))
    = Some canvas
    /\ length canvas = slots (length word)
    /\ last canvas (mask_symbol parity)
       = if accepts parity_automaton word then accept_symbol parity else reject_symbol parity.
Proof.
  intros word Hword Hlength. apply automaton_is_decided with (states := [0; 1]%nat); try assumption; try lia;
    try reflexivity.
  - apply parity_is_lawful.
  - apply table_coding_codes, parity_is_lawful.
Qed.

(** The same of the automaton alone: the monoid is that of the maps of its two states. *)
Lemma parity_automaton_is_well_formed : well_formed parity_automaton.
Proof. split; [vm_compute; lia | repeat constructor; simpl; lia]. Qed.

Example parity_automaton_is_decided : forall word, Forall (fun t => (t < 2)%nat) word -> (1 <= length word)%nat ->
  let m := transformations parity_automaton 2 in
  exists canvas,
    run 2 exponential_2 (tree_model 2 m (table_coding m) (length word)) word (steps (length word)) = Some canvas
    /\ length canvas = slots (length word)
    /\ last canvas (mask_symbol m) = if accepts parity_automaton word then accept_symbol m else reject_symbol m.
Proof. intros. apply every_automaton_is_decided; try assumption; [lia | apply parity_automaton_is_well_formed]. Qed.

(** For every p: three steps are an exponential. With e^x itself, where the table is proved to round it. *)
Example parity_is_decided_at_every_p : forall p (positive : 1 <= p) word,
  2 <= p -> is_word parity word -> (1 <= length word)%nat ->
  exists canvas,
    run p (three_steps p positive) (tree_model p parity (table_coding parity) (length word)) word (steps (length word))
    = Some canvas
    /\ length canvas = slots (length word)
    /\ last canvas (mask_symbol parity) = verdict parity (element_of_word parity word).
Proof. intros. apply every_monoid_is_decided; try assumption. apply parity_is_lawful. Qed.

Example parity_is_decided_with_e_to_the_x : forall word, is_word parity word -> (1 <= length word)%nat ->
  exists canvas,
    run 2 (exponential_of_rounding 2 ltac:(lia) _ table_2_rounds)
        (tree_model 2 parity (table_coding parity) (length word)) word (steps (length word)) = Some canvas
    /\ length canvas = slots (length word)
    /\ last canvas (mask_symbol parity) = verdict parity (element_of_word parity word).
Proof. intros. apply decided_with_e_to_the_x; try assumption; [lia | apply parity_is_lawful]. Qed.

(** Another coding, by points: feature 2x + y is "x goes to y"; one verdict by what is present, one by what is not. *)
Definition parity_by_points : coding :=
  let moves a := (if a =? 0 then [0; 3] else [1; 2])%nat in {|
  left_features := 4; right_features := 4; left_of := moves; right_of := moves; result_of := moves;
  triples := [(0, 0, 0); (0, 1, 1); (1, 2, 0); (1, 3, 1); (2, 0, 2); (2, 1, 3); (3, 2, 2); (3, 3, 3)]%nat;
  accept_when := [{| present := [0%nat]; lacking := None |}];
  reject_when := [{| present := []; lacking := Some 0%nat |}] |}.

Example parity_is_decided_by_points : forall word, is_word parity word -> (1 <= length word)%nat ->
  exists canvas,
    run 2 exponential_2 (tree_model 2 parity parity_by_points (length word)) word (steps (length word)) = Some canvas
    /\ length canvas = slots (length word)
    /\ last canvas (mask_symbol parity) = verdict parity (element_of_word parity word).
Proof.
  intros. apply regular_language_is_decided; try assumption; try lia.
  - apply parity_is_lawful.
  - apply coding_is_right_codes. reflexivity.
Qed.

(** Decoding: the mask, symbol 1, is left out although its logit is largest; of the two next, the lower one is taken. *)
Example decoding_example : argmax (without 2 1 [3; 15; 7; 7]) = 2%nat.
Proof.
  destruct (mask_is_left_out 2 1 [3; 15; 7; 7] 0) as [Hk [Hmask [Hall Hfirst]]]; [lia | | simpl; lia | lia |].
  - repeat (constructor; [in_range|]). constructor.
  - set (k := argmax _) in *. clearbody k. destruct k as [|[|[|[|k]]]]; simpl in Hk; try lia.
    + specialize (Hall 2%nat ltac:(simpl; lia) ltac:(lia)). simpl in Hall. lia.
    + specialize (Hfirst 2%nat ltac:(lia) ltac:(lia)). simpl in Hfirst. lia.
Qed.

(** The same model, run by the kernel on 1 0 1: symbols 0, 1, then 2 = mask, 3 = reject, 4 = accept. *)
Definition parity_of_three : nat -> option (list nat) :=
  run 2 exponential_2 (tree_model 2 parity (table_coding parity) 3) [1; 0; 1]%nat.

Example parity_run : parity_of_three (steps 3) = Some [1; 4]%nat.
Proof. vm_compute. reflexivity. Qed.

(** On 1 0 0 it rejects: the verdict is the word's. *)
Example parity_run_rejects : run 2 exponential_2 (tree_model 2 parity (table_coding parity) 3) [1; 0; 0]%nat (steps 3)
                             = Some [0; 3]%nat.
Proof. vm_compute. reflexivity. Qed.

(** A step earlier the root is still masked: the bound on the steps is met, not undercut. *)
Example parity_needs_its_steps : parity_of_three 1 = Some [1; 2]%nat.
Proof. vm_compute. reflexivity. Qed.
