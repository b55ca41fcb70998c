(** The definitions say what the design page says: rounding, clipping, the error of a head, decoding.

    No other proof rests on this file. It is for those who would rather read a statement than a formula. *)

From Coq Require Import ZArith Lia List Bool Arith.
From Unmask Require Import Numbers Sums Exponential Layer Diffusion.
Import ListNotations.
Open Scope Z_scope.

(** To nearest, ties toward zero: r is at most half a step away, and if exactly half a step, on the side of zero. *)
Theorem nearest_ties_toward_zero : forall a d r, 0 < d ->
  (nearest a d = r <-> 2 * Z.abs (r * d - a) <= d /\ (2 * Z.abs (r * d - a) = d -> Z.abs (r * d) < Z.abs a)).
Proof.
  assert (exists_one : forall a d, 0 < d -> 2 * Z.abs (nearest a d * d - a) <= d
            /\ (2 * Z.abs (nearest a d * d - a) = d -> Z.abs (nearest a d * d) < Z.abs a)).
  { intros a d Hd. unfold nearest. set (q := (2 * Z.abs a + d - 1) / (2 * d)).
    pose proof (Z.div_mod (2 * Z.abs a + d - 1) (2 * d) ltac:(lia)) as Hdiv.
    pose proof (Z.mod_pos_bound (2 * Z.abs a + d - 1) (2 * d) ltac:(lia)) as Hmod.
    fold q in Hdiv. rewrite <- (Z.mul_assoc 2 d q) in Hdiv. rewrite <- Z.mul_assoc, (Z.mul_comm q d).
    assert (Hq : 0 <= d * q) by (apply Z.mul_nonneg_nonneg; [lia | apply Z.div_pos; lia]).
    set (step := d * q) in *. clearbody step q.
    destruct (Z.sgn_spec a) as [[Ha ->]|[[Ha ->]|[Ha ->]]]; lia. }
  intros a d r Hd. split; [intros <-; apply exists_one; assumption|]. intros [Hr Htie].
  destruct (exists_one a d Hd) as [Hn Hntie]. set (n := nearest a d) in *. clearbody n.
  destruct (Z.lt_total n r) as [Hlt|[Heq|Hlt]]; [|assumption|]; exfalso.
  - assert (n * d + d <= r * d) by nia. lia.
  - assert (r * d + d <= n * d) by nia. lia.
Qed.

Theorem clip_to_bound : forall p a, 1 <= p ->
  clip p a = if bound p <? a then bound p else if a <? - bound p then - bound p else a.
Proof.
  intros p a Hp. pose proof (bound_positive p Hp). unfold clip.
  destruct (Z.ltb_spec (bound p) a); [lia|]. destruct (Z.ltb_spec a (- bound p)); lia.
Qed.

(** A head is an error if and only if every key has the exponential 0; a layer if and only if a head is, at some row. *)
Theorem attends_to_nothing : forall p (e : exponential p) h own rows, 1 <= p ->
  (attend p e h own rows = None <-> Forall (fun x => x = 0) (exponentials p e h own rows)).
Proof.
  intros p e h own rows Hp. unfold attend.
  assert (range : Forall (fun x => 0 <= x) (exponentials p e h own rows)).
  { apply Forall_forall. intros x Hx. apply in_map_iff in Hx. destruct Hx as [row [<- _]].
    apply exp_range, sum_representable. assumption. }
  assert (zero : forall xs s, Forall (fun x => 0 <= x) xs -> 0 <= s ->
            (sum_from p s xs = 0 <-> s = 0 /\ Forall (fun x => x = 0) xs)).
  { pose proof (bound_positive p Hp). induction xs as [|x xs IH]; intros s Hxs Hs.
    - simpl. split; [intros ->; split; [reflexivity | constructor] | tauto].
    - inversion Hxs; subst. change (sum_from p s (x :: xs)) with (sum_from p (add p s x) xs).
      rewrite IH by (try assumption; unfold add, clip; lia). rewrite Forall_cons_iff. unfold add, clip. split.
      + intros [H0 Hall]. repeat split; try assumption; lia.
      + intros [-> [-> Hall]]. split; [lia | assumption]. }
  pose proof (zero _ 0 range ltac:(lia)) as Hzero. unfold sum.
  destruct (Z.eqb_spec (sum_from p 0 (exponentials p e h own rows)) 0) as [E|E].
  - split; [intros _; apply Hzero; assumption | reflexivity].
  - split; [discriminate|]. intro H. exfalso. apply E, Hzero. split; [reflexivity | assumption].
Qed.

Theorem layer_is_an_error : forall p (e : exponential p) l rows,
  run_layer p e rows l = None
  <-> exists own h, In own rows /\ In h (heads l) /\ attend p e h own rows = None.
Proof.
  intros p e l rows. unfold run_layer.
  assert (some_row : forall (f : vector -> option vector) xs,
            all_or_error (map f xs) = None <-> exists x, In x xs /\ f x = None).
  { intros f xs. induction xs as [|x xs IH]; simpl.
    - split; [discriminate | intros [x [[] _]]].
    - destruct (f x) eqn:E.
      + destruct (all_or_error (map f xs)) eqn:R; simpl.
        * split; [discriminate|]. intros [y [[<-|Hy] Hf]]; [congruence|].
          discriminate (proj2 IH). exists y. tauto.
        * split; [|reflexivity]. intros _. destruct (proj1 IH eq_refl) as [y [Hy Hf]]. exists y. tauto.
      + split; [|reflexivity]. intros _. exists x. tauto. }
  assert (some_head : forall own hs total,
            sum_of_heads p e total hs own rows = None <-> exists h, In h hs /\ attend p e h own rows = None).
  { intros own hs. induction hs as [|h hs IH]; intro total; simpl.
    - split; [discriminate | intros [h [[] _]]].
    - destruct (attend p e h own rows) eqn:E.
      + rewrite IH. split; [intros [g [Hg Ha]]; exists g; tauto|]. intros [g [[<-|Hg] Ha]]; [congruence|].
        exists g. tauto.
      + split; [|reflexivity]. intros _. exists h. tauto. }
  rewrite some_row. unfold layer_row. split.
  - intros [own [Hown H]]. destruct (sum_of_heads _ _ _ _ _ _) eqn:E; [discriminate|].
    apply some_head in E. destruct E as [h [Hh Ha]]. exists own, h. tauto.
  - intros [own [h [Hown [Hh Ha]]]]. exists own. split; [assumption|].
    rewrite (proj2 (some_head own (heads l) _)) by (exists h; tauto). reflexivity.
Qed.

(** Decoding: the entry found is a largest one, and no entry before it is as large. *)
Lemma argmax_from_first : forall xs champion best next,
  let k := argmax_from champion best next xs in
  (k = champion /\ forall j, (j < length xs)%nat -> nth j xs 0 <= best)
  \/ exists i, (i < length xs)%nat /\ k = (next + i)%nat /\ best < nth i xs 0
               /\ (forall j, (j < length xs)%nat -> nth j xs 0 <= nth i xs 0)
               /\ (forall j, (j < i)%nat -> nth j xs 0 < nth i xs 0).
Proof.
  induction xs as [|x xs IH]; intros champion best next; simpl.
  - left. split; [reflexivity | intros; lia].
  - destruct (Z.ltb_spec best x) as [Hx|Hx].
    + right. destruct (IH next x (S next)) as [[-> Hall]|[i [Hi [-> [Hbest [Hall Hfirst]]]]]].
      * exists 0%nat. repeat split; try lia. intros [|j] Hj; [lia | apply Hall; lia].
      * exists (S i). repeat split; try lia.
        -- intros [|j] Hj; [lia | apply Hall; lia].
        -- intros [|j] Hj; [assumption | apply Hfirst; lia].
    + destruct (IH champion best (S next)) as [[-> Hall]|[i [Hi [-> [Hbest [Hall Hfirst]]]]]].
      * left. split; [reflexivity|]. intros [|j] Hj; [lia | apply Hall; lia].
      * right. exists (S i). repeat split; try lia.
        -- intros [|j] Hj; [lia | apply Hall; lia].
        -- intros [|j] Hj; [lia | apply Hfirst; lia].
Qed.

Theorem argmax_is_the_first_largest : forall xs, xs <> [] ->
  (argmax xs < length xs)%nat
  /\ (forall j, (j < length xs)%nat -> nth j xs 0 <= nth (argmax xs) xs 0)
  /\ (forall j, (j < argmax xs)%nat -> nth j xs 0 < nth (argmax xs) xs 0).
Proof.
  intros [|x xs] H; [contradiction|]. unfold argmax.
  destruct (argmax_from_first xs 0 x 1) as [[-> Hall]|[i [Hi [-> [Hbest [Hall Hfirst]]]]]]; simpl.
  - repeat split; try lia. intros [|j] Hj; [lia | apply Hall; lia].
  - repeat split; try lia.
    + intros [|j] Hj; [lia | apply Hall; lia].
    + intros [|j] Hj; [assumption | apply Hfirst; lia].
Qed.

(** The mask is left out: decoding finds the first largest entry among all others. *)
Theorem mask_is_left_out : forall p mask xs other, 1 <= p -> Forall (representable p) xs ->
  (other < length xs)%nat -> other <> mask ->
  let k := argmax (without p mask xs) in
  (k < length xs)%nat /\ k <> mask
  /\ (forall j, (j < length xs)%nat -> j <> mask -> nth j xs 0 <= nth k xs 0)
  /\ (forall j, (j < k)%nat -> j <> mask -> nth j xs 0 < nth k xs 0).
Proof.
  intros p mask xs other Hp Hxs Hother Hne k.
  assert (Hlength : length (without p mask xs) = length xs).
  { unfold without. rewrite map_length, seq_length. reflexivity. }
  assert (value : forall j, (j < length xs)%nat ->
            nth j (without p mask xs) 0 = if Nat.eqb j mask then - bound p - 1 else nth j xs 0).
  { intros j Hj. unfold without. set (f := fun k => _).
    rewrite (nth_indep _ 0 (f 0%nat)) by (rewrite map_length, seq_length; assumption).
    rewrite map_nth, seq_nth by assumption. reflexivity. }
  destruct (argmax_is_the_first_largest (without p mask xs)) as [Hk [Hall Hfirst]].
  { intro E. rewrite E in Hlength. simpl in Hlength. lia. }
  fold k in Hk, Hall, Hfirst. rewrite Hlength in *.
  assert (Hmask : k <> mask).
  { intro E. specialize (Hall other Hother). rewrite !value in Hall by assumption. rewrite E, Nat.eqb_refl in Hall.
    apply Nat.eqb_neq in Hne. rewrite Hne in Hall. rewrite Forall_forall in Hxs.
    specialize (Hxs _ (nth_In xs 0 Hother)). unfold representable in Hxs. lia. }
  split; [assumption|]. split; [assumption|]. apply Nat.eqb_neq in Hmask. split.
  - intros j Hj Hjm. specialize (Hall j Hj). rewrite !value, Hmask in Hall by assumption.
    apply Nat.eqb_neq in Hjm. rewrite Hjm in Hall. assumption.
  - intros j Hj Hjm. specialize (Hfirst j Hj). rewrite !value, Hmask in Hfirst by lia.
    apply Nat.eqb_neq in Hjm. rewrite Hjm in Hfirst. assumption.
Qed.
