(** The exponential itself: a function on F_p that rounds e^x correctly is an [exponential p], for every p >= 1.

    No real numbers are needed. The number a of F_p means a/2^p, and

        r - 1/2 < 2^p·e^(a/2^p) < r + 1/2    iff    (2r - 1)^S < (2S)^S·e^a < (2r + 1)^S       with S = 2^p,

    so that only e^a for whole a is compared with rationals, and e lies between 1/0! + … + 1/n! and that plus 1/n!. *)

From Coq Require Import ZArith Lia List Bool.
From Unmask Require Import Numbers Exponential.
Import ListNotations.
Open Scope Z_scope.

(** 1/0! + … + 1/k! = sum_numerator n / factorial n with k = n + 1: brackets are counted from k = 1, from which on the
    upper bound does not grow. *)
Fixpoint bracket (n : nat) : Z * Z :=
  match n with
  | O => (2, 1)
  | S n => let '(numerator, factorial) := bracket n in
           let k := Z.of_nat n + 2 in (k * numerator + 1, k * factorial)
  end.
Definition sum_numerator (n : nat) : Z := fst (bracket n).
Definition factorial (n : nat) : Z := snd (bracket n).

(** x / y <= e^a and e^a <= x / y, for a >= 0, shown by one of the brackets. *)
Definition below_power (x y a : Z) : Prop := exists n, x * factorial n ^ a <= y * sum_numerator n ^ a.
Definition above_power (x y a : Z) : Prop := exists n, y * (sum_numerator n + 1) ^ a <= x * factorial n ^ a.

(** (2r - 1)^S <= (2S)^S·e^a, and (2S)^S·e^a <= (2r + 1)^S. *)
Definition not_too_large (p a r : Z) : Prop :=
  if 0 <=? a then below_power ((2 * r - 1) ^ one p) ((2 * one p) ^ one p) a
  else above_power ((2 * one p) ^ one p) ((2 * r - 1) ^ one p) (- a).
Definition not_too_small (p a r : Z) : Prop :=
  if 0 <=? a then above_power ((2 * r + 1) ^ one p) ((2 * one p) ^ one p) a
  else below_power ((2 * one p) ^ one p) ((2 * r + 1) ^ one p) (- a).

(** r is the number of F_p that is nearest to e^(a/2^p): 0 needs no lower bound, and B, to which is clipped, no upper one. *)
Definition rounds (p a r : Z) : Prop :=
  0 <= r <= bound p /\ (r = 0 \/ not_too_large p a r) /\ (r = bound p \/ not_too_small p a r).

Definition correctly_rounded (p : Z) (f : Z -> Z) : Prop := forall a, representable p a -> rounds p a (f a).

Lemma bracket_step : forall n,
  sum_numerator (S n) = (Z.of_nat n + 2) * sum_numerator n + 1 /\ factorial (S n) = (Z.of_nat n + 2) * factorial n.
Proof. intro n. unfold sum_numerator, factorial. simpl bracket. destruct (bracket n). simpl. lia. Qed.

Lemma bracket_positive : forall n, 1 <= factorial n /\ factorial n < sum_numerator n.
Proof.
  induction n as [|n [IH1 IH2]]; [unfold factorial, sum_numerator; simpl; lia|].
  destruct (bracket_step n) as [-> ->]. nia.
Qed.

(** Lower bounds grow, upper bounds fall: every lower bound is below every upper bound. *)
Lemma lower_grows : forall n k, sum_numerator n * factorial (n + k) <= sum_numerator (n + k) * factorial n.
Proof.
  intros n k. induction k as [|k IH]; [rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r. destruct (bracket_step (n + k)) as [-> ->]. pose proof (bracket_positive n). nia.
Qed.

Lemma upper_falls : forall n k, (sum_numerator (n + k) + 1) * factorial n <= (sum_numerator n + 1) * factorial (n + k).
Proof.
  intros n k. induction k as [|k IH]; [rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r. destruct (bracket_step (n + k)) as [-> ->]. pose proof (bracket_positive n). nia.
Qed.

Lemma lower_below_upper : forall n k, sum_numerator n * factorial k <= (sum_numerator k + 1) * factorial n.
Proof.
  intros n k. pose proof (bracket_positive n). pose proof (bracket_positive k).
  destruct (Nat.le_ge_cases n k) as [H1|H1].
  - pose proof (lower_grows n (k - n)) as H2. replace (n + (k - n))%nat with k in H2 by lia. nia.
  - pose proof (upper_falls k (n - k)) as H2. replace (k + (n - k))%nat with n in H2 by lia. nia.
Qed.

(** Products of inequalities between positive numbers. *)
Lemma multiply_lt_le : forall v z w x y, 0 <= v * z -> v * z < w -> 0 < x -> x <= y -> v * (z * x) < w * y.
Proof. intros. rewrite Z.mul_assoc. apply Z.lt_le_trans with (w * x); [apply Z.mul_lt_mono_pos_r | apply Z.mul_le_mono_nonneg_l]; lia. Qed.

Lemma cross_multiply : forall c d t x y, 0 < x -> 0 < c -> t * c < d -> d * x <= c * y -> t * x < y.
Proof.
  intros c d t x y Hx Hc Hd H. apply (Z.mul_lt_mono_pos_l c); [assumption|].
  apply Z.lt_le_trans with (d * x); [|assumption].
  replace (c * (t * x)) with (t * c * x) by lia. apply Z.mul_lt_mono_pos_r; assumption.
Qed.

(** e >= 65/24, and (65/24)^45 > 2^64: this is ln 2 < 45/64. *)
Lemma upper_bound_is_large : forall n, 2 ^ 64 * factorial n ^ 45 < (sum_numerator n + 1) ^ 45.
Proof.
  intro n. pose proof (lower_below_upper 3 n) as H. change (sum_numerator 3) with 65 in H. change (factorial 3) with 24 in H.
  pose proof (bracket_positive n) as [H1 H2].
  assert (Hpow : (65 * factorial n) ^ 45 <= (24 * (sum_numerator n + 1)) ^ 45) by (apply Z.pow_le_mono_l; lia).
  rewrite !Z.pow_mul_l in Hpow. apply (cross_multiply (24 ^ 45) (65 ^ 45)).
  - apply Z.pow_pos_nonneg; lia.
  - apply Z.pow_pos_nonneg; lia.
  - vm_compute. reflexivity.
  - assumption.
Qed.

(** A power of e beyond k·ln 2 is beyond 2^k. *)
Lemma power_is_large : forall n k b, 1 <= k -> 45 * k <= 64 * b ->
  2 ^ k * factorial n ^ b < (sum_numerator n + 1) ^ b.
Proof.
  intros n k b Hk Hb. pose proof (bracket_positive n) as [H1 H2].
  assert (Hu : factorial n <= sum_numerator n + 1) by lia.
  pose proof (upper_bound_is_large n) as H45.
  generalize dependent (sum_numerator n + 1). generalize dependent (factorial n). intros f H1 _ u Hu H45.
  assert (Hf0 : 0 <= f) by (clear - H1; lia). assert (Hu0 : 0 <= u) by (clear - H1 Hu; lia).
  assert (Hk45 : (2 ^ 64 * f ^ 45) ^ k < (u ^ 45) ^ k).
  { apply Z.pow_lt_mono_l; [clear - Hk; lia|]. split; [|assumption].
    apply Z.mul_nonneg_nonneg; apply Z.pow_nonneg; assumption || discriminate. }
  rewrite Z.pow_mul_l in Hk45. rewrite <- !Z.pow_mul_r in Hk45 by (clear - Hk; lia).
  assert (Hall : 2 ^ (64 * k) * f ^ (64 * b) < u ^ (64 * b)).
  { clear H45. replace (64 * b) with (45 * k + (64 * b - 45 * k)) by (clear; lia).
    rewrite !Z.pow_add_r by (clear - Hk Hb; lia).
    apply multiply_lt_le.
    - apply Z.mul_nonneg_nonneg; apply Z.pow_nonneg; assumption || discriminate.
    - assumption.
    - apply Z.pow_pos_nonneg; [clear - H1 | clear - Hb]; lia.
    - apply Z.pow_le_mono_l. split; assumption. }
  clear H45 Hk45. apply Z.nle_gt. intro Hle.
  assert (Hle64 : (u ^ b) ^ 64 <= (2 ^ k * f ^ b) ^ 64).
  { apply Z.pow_le_mono_l. split; [apply Z.pow_nonneg|]; assumption. }
  rewrite Z.pow_mul_l in Hle64. rewrite <- !Z.pow_mul_r in Hle64 by (clear - Hk Hb; lia).
  rewrite (Z.mul_comm b 64), (Z.mul_comm k 64) in Hle64.
  apply Z.lt_nge in Hall. contradiction.
Qed.

Section Rounding.
  Variable p : Z.
  Hypothesis p_positive : 1 <= p.

  (** 2S and S·S as powers of 2, so that their powers are powers of 2. *)
  Lemma twice_one_power : (2 * one p) ^ one p = 2 ^ ((p + 1) * one p).
  Proof.
    pose proof (one_at_least_2 p p_positive). unfold one at 1. rewrite <- Z.pow_succ_r by lia.
    rewrite <- Z.pow_mul_r by lia. reflexivity.
  Qed.

  Lemma rounded_zero : forall r, rounds p 0 r -> r = one p.
  Proof.
    intros r [Hr [Hl Hu]]. pose proof (one_at_least_2 p p_positive). pose proof (one_below_bound p p_positive).
    assert (Hupper : r = bound p \/ one p <= r).
    { destruct Hu as [Hu|[n Hu]]; [left; assumption|]. right. rewrite !Z.pow_0_r, !Z.mul_1_r in Hu.
      apply Z.nlt_ge. intro Hlt.
      assert (Hpow : (2 * r + 1) ^ one p < (2 * one p) ^ one p) by (clear Hu Hl; apply Z.pow_lt_mono_l; lia).
      apply Z.lt_nge in Hpow. contradiction. }
    assert (Hlower : r = 0 \/ r <= one p).
    { destruct Hl as [Hl|[n Hl]]; [left; assumption|]. right. rewrite !Z.pow_0_r, !Z.mul_1_r in Hl.
      apply Z.nlt_ge. intro Hlt.
      assert (Hpow : (2 * one p) ^ one p < (2 * r - 1) ^ one p) by (clear Hu Hl; apply Z.pow_lt_mono_l; lia).
      apply Z.lt_nge in Hpow. contradiction. }
    clear Hl Hu. lia.
  Qed.

  Lemma rounded_saturates : forall a r, rounds p a r -> saturated p a -> r = bound p.
  Proof.
    intros a r [Hr [_ Hu]] Hs. unfold saturated in Hs. pose proof (one_at_least_2 p p_positive) as H2.
    destruct Hu as [Hu|Hu]; [assumption|]. destruct (Z.eq_dec r (bound p)) as [E|Hne]; [assumption|]. exfalso.
    assert (Ha : 0 <= a) by (clear Hu; nia).
    unfold not_too_small in Hu. destruct (Z.leb_spec 0 a); [|lia]. destruct Hu as [n Hu].
    assert (Hlarge : 2 ^ (p * one p) * factorial n ^ a < (sum_numerator n + 1) ^ a).
    { clear Hu. apply power_is_large; nia. }
    assert (Hodd : (2 * r + 1) ^ one p <= (2 * one p) ^ one p * 2 ^ (p * one p)).
    { rewrite Z.pow_mul_r, <- Z.pow_mul_l by (clear Hu Hlarge; lia). fold (one p).
      pose proof (bound_is_square p p_positive). clear Hu Hlarge. apply Z.pow_le_mono_l. nia. }
    assert (Hpos : 0 < (2 * one p) ^ one p) by (apply Z.pow_pos_nonneg; clear Hu Hlarge; lia).
    assert (Hf : 0 <= factorial n ^ a) by (apply Z.pow_nonneg; pose proof (bracket_positive n); clear Hu Hlarge; lia).
    apply Z.lt_nge in Hlarge. apply Hlarge.
    apply (Z.mul_le_mono_pos_l _ _ ((2 * one p) ^ one p)); [assumption|].
    apply Z.le_trans with ((2 * r + 1) ^ one p * factorial n ^ a); [assumption|].
    rewrite Z.mul_assoc. apply Z.mul_le_mono_nonneg_r; assumption.
  Qed.

  Lemma rounded_vanishes : forall a r, rounds p a r -> vanished p a -> r = 0.
  Proof.
    intros a r [Hr [Hl _]] Hv. unfold vanished in Hv. pose proof (one_at_least_2 p p_positive) as H2.
    destruct Hl as [Hl|Hl]; [assumption|]. destruct (Z.eq_dec r 0) as [E|Hne]; [assumption|]. exfalso.
    assert (Ha : a < 0) by (clear Hl; nia).
    unfold not_too_large in Hl. destruct (Z.leb_spec 0 a); [lia|]. destruct Hl as [n Hl].
    rewrite twice_one_power in Hl.
    assert (Hlarge : 2 ^ ((p + 1) * one p) * factorial n ^ (- a) < (sum_numerator n + 1) ^ (- a)).
    { clear Hl. apply power_is_large; nia. }
    assert (Hodd : 1 <= (2 * r - 1) ^ one p).
    { assert (0 < (2 * r - 1) ^ one p) by (apply Z.pow_pos_nonneg; clear Hl Hlarge; lia). clear Hl Hlarge. lia. }
    assert (Hu : 0 <= (sum_numerator n + 1) ^ (- a)).
    { apply Z.pow_nonneg. pose proof (bracket_positive n). clear Hl Hlarge. lia. }
    apply Z.lt_nge in Hlarge. apply Hlarge. apply Z.le_trans with ((2 * r - 1) ^ one p * (sum_numerator n + 1) ^ (- a)); [|assumption].
    rewrite <- (Z.mul_1_l ((sum_numerator n + 1) ^ (- a))) at 1. apply Z.mul_le_mono_nonneg_r; assumption.
  Qed.
  (** If x/t <= (n/f)^a and (u/g)^b <= y/t with n/f <= u/g, u/g > 1 and a < b, then y > x. *)
  Lemma no_crossing : forall t x y f g n u a b, 0 < t -> 0 <= y <= x -> 0 < f -> 0 < g -> 0 <= n ->
    n * g <= u * f -> g < u -> 0 <= a < b -> x * f ^ a <= t * n ^ a -> t * u ^ b <= y * g ^ b -> False.
  Proof.
    intros t x y f g n u a b Ht Hyx Hf Hg Hn Hng Hgu Hab Hlow Hup.
    assert (Hfa : 0 < f ^ a) by (clear Hlow Hup; apply Z.pow_pos_nonneg; lia).
    assert (Hua : 0 < u ^ a) by (clear Hlow Hup; apply Z.pow_pos_nonneg; lia).
    assert (Hgb : 0 <= g ^ b) by (apply Z.pow_nonneg; clear - Hg; lia).
    assert (Hgba : 0 <= g ^ (b - a)) by (apply Z.pow_nonneg; clear - Hg; lia).
    assert (Hcross : u ^ b * f ^ a <= n ^ a * g ^ b).
    { apply (Z.mul_le_mono_pos_l _ _ t); [assumption|].
      apply Z.le_trans with (y * g ^ b * f ^ a); [rewrite Z.mul_assoc; apply Z.mul_le_mono_nonneg_r; [clear - Hfa; lia | assumption]|].
      apply Z.le_trans with (x * f ^ a * g ^ b).
      - replace (y * g ^ b * f ^ a) with (y * (f ^ a * g ^ b)) by ring.
        replace (x * f ^ a * g ^ b) with (x * (f ^ a * g ^ b)) by ring.
        apply Z.mul_le_mono_nonneg_r; [apply Z.mul_nonneg_nonneg; [clear - Hfa; lia | assumption] | clear - Hyx; lia].
      - rewrite Z.mul_assoc. apply Z.mul_le_mono_nonneg_r; assumption. }
    assert (Hpow : n ^ a * g ^ a <= u ^ a * f ^ a).
    { rewrite <- !Z.pow_mul_l. apply Z.pow_le_mono_l. split; [apply Z.mul_nonneg_nonneg; clear - Hn Hg; lia | assumption]. }
    assert (Hfinal : u ^ (b - a) <= g ^ (b - a)).
    { apply (Z.mul_le_mono_pos_l _ _ (u ^ a * f ^ a)); [apply Z.mul_pos_pos; assumption|].
      replace (u ^ a * f ^ a * u ^ (b - a)) with (u ^ b * f ^ a)
        by (replace b with (a + (b - a)) at 1 by lia; rewrite Z.pow_add_r by lia; ring).
      apply Z.le_trans with (n ^ a * g ^ b); [assumption|].
      replace (n ^ a * g ^ b) with (n ^ a * g ^ a * g ^ (b - a))
        by (replace b with (a + (b - a)) at 2 by lia; rewrite Z.pow_add_r by lia; ring).
      apply Z.mul_le_mono_nonneg_r; assumption. }
    assert (Hstrict : g ^ (b - a) < u ^ (b - a)) by (clear - Hg Hgu Hab; apply Z.pow_lt_mono_l; lia).
    apply Z.lt_nge in Hstrict. contradiction.
  Qed.

  Lemma rounded_grows : forall a b r r', rounds p a r -> rounds p b r' -> a < b -> r <= r'.
  Proof.
    intros a b r r' [Hr [Hl _]] [Hr' [_ Hu]] Hab. apply Z.nlt_ge. intro Hlt.
    pose proof (one_at_least_2 p p_positive) as H2.
    destruct Hl as [Hl|Hl]; [clear Hu; lia|]. destruct Hu as [Hu|Hu]; [clear Hl; lia|].
    set (t := (2 * one p) ^ one p) in *. set (x := (2 * r - 1) ^ one p) in *. set (y := (2 * r' + 1) ^ one p) in *.
    assert (Ht : 0 < t) by (clear Hl Hu; apply Z.pow_pos_nonneg; lia).
    assert (Hy : 0 < y) by (clear Hl Hu; apply Z.pow_pos_nonneg; lia).
    assert (Hyx : y <= x) by (clear Hl Hu; apply Z.pow_le_mono_l; lia).
    unfold not_too_large in Hl. unfold not_too_small in Hu. fold t in Hl, Hu. fold x in Hl. fold y in Hu. clearbody t x y.
    destruct (Z.leb_spec 0 a) as [Ha|Ha]; destruct (Z.leb_spec 0 b) as [Hb|Hb];
      destruct Hl as [n Hl]; destruct Hu as [m Hu];
      pose proof (bracket_positive n) as [F1 F2]; pose proof (bracket_positive m) as [G1 G2].
    - apply (no_crossing t x y (factorial n) (factorial m) (sum_numerator n) (sum_numerator m + 1) a b);
        try assumption; try (clear Hl Hu; lia). apply lower_below_upper.
    - clear Hl Hu. lia.
    - assert (Hpow : factorial n ^ (- a) < (sum_numerator n + 1) ^ (- a)) by (clear Hl Hu; apply Z.pow_lt_mono_l; lia).
      assert (Hpow' : factorial m ^ b <= (sum_numerator m + 1) ^ b) by (clear Hl Hu Hpow; apply Z.pow_le_mono_l; lia).
      assert (Hpos : 0 < (sum_numerator m + 1) ^ b) by (clear Hl Hu Hpow Hpow'; apply Z.pow_pos_nonneg; lia).
      assert (Hpos' : 0 < (sum_numerator n + 1) ^ (- a)) by (clear Hl Hu Hpow Hpow' Hpos; apply Z.pow_pos_nonneg; lia).
      assert (Hxt : x < t).
      { apply (Z.mul_lt_mono_pos_r ((sum_numerator n + 1) ^ (- a))); [assumption|].
        apply Z.le_lt_trans with (t * factorial n ^ (- a)); [assumption|]. apply Z.mul_lt_mono_pos_l; assumption. }
      assert (Hty : t <= y).
      { apply (Z.mul_le_mono_pos_r _ _ ((sum_numerator m + 1) ^ b)); [assumption|].
        apply Z.le_trans with (y * factorial m ^ b); [assumption|].
        apply Z.mul_le_mono_nonneg_l; [clear - Hy; lia | assumption]. }
      clear - Hxt Hty Hyx. lia.
    - apply (no_crossing y t t (factorial m) (factorial n) (sum_numerator m) (sum_numerator n + 1) (- b) (- a));
        try assumption; try (clear Hl Hu; lia).
      + apply lower_below_upper.
      + apply Z.le_trans with (x * (sum_numerator n + 1) ^ (- a)); [|assumption].
        apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; clear Hl Hu; lia | assumption].
  Qed.

  (** A function that rounds correctly is an exponential as the theorems need it. *)
  Definition exponential_of_rounding (f : Z -> Z) (H : correctly_rounded p f) : exponential p.
  Proof.
    refine {| exp := f |}.
    - intros x Hx. apply (H x Hx).
    - apply rounded_zero, H, zero_representable. assumption.
    - intros x y Hx Hy Hxy. destruct (Z.eq_dec x y) as [->|]; [reflexivity|].
      apply (rounded_grows x y); [apply H; assumption | apply H; assumption | lia].
    - intros x Hx. apply rounded_saturates, H. assumption.
    - intros x Hx. apply rounded_vanishes, H. assumption.
  Defined.
End Rounding.

(** Tables: entry a + B is exp a. Whether a table rounds correctly can be computed, with brackets that are good enough. *)
Definition numbers (p : Z) : list Z := map (fun i => Z.of_nat i - bound p) (seq 0 (Z.to_nat (2 * bound p + 1))).
Definition from_table (p : Z) (table : list Z) (x : Z) : Z := nth (Z.to_nat (x + bound p)) table 0.

Fixpoint some_bracket (test : nat -> bool) (brackets : list nat) : bool :=
  match brackets with [] => false | n :: rest => if test n then true else some_bracket test rest end.

Definition below_is_shown (brackets : list nat) (x y a : Z) : bool :=
  some_bracket (fun n => x * factorial n ^ a <=? y * sum_numerator n ^ a) brackets.
Definition above_is_shown (brackets : list nat) (x y a : Z) : bool :=
  some_bracket (fun n => y * (sum_numerator n + 1) ^ a <=? x * factorial n ^ a) brackets.

Definition rounding_is_shown (brackets : list nat) (p a r : Z) : bool :=
  let s := one p in
  (0 <=? r) && (r <=? bound p)
  && (if r =? 0 then true
      else if 0 <=? a then below_is_shown brackets ((2 * r - 1) ^ s) ((2 * s) ^ s) a
      else above_is_shown brackets ((2 * s) ^ s) ((2 * r - 1) ^ s) (- a))
  && (if r =? bound p then true
      else if 0 <=? a then above_is_shown brackets ((2 * r + 1) ^ s) ((2 * s) ^ s) a
      else below_is_shown brackets ((2 * s) ^ s) ((2 * r + 1) ^ s) (- a)).

Lemma some_bracket_exists : forall test brackets, some_bracket test brackets = true -> exists n, test n = true.
Proof.
  intros test brackets. induction brackets as [|n brackets IH]; intro H; simpl in H; [discriminate|].
  destruct (test n) eqn:E; [exists n; assumption | auto].
Qed.

Lemma shown_rounds : forall brackets p a r, rounding_is_shown brackets p a r = true -> rounds p a r.
Proof.
  intros brackets p a r H. unfold rounding_is_shown in H.
  apply andb_true_iff in H. destruct H as [H Hu]. apply andb_true_iff in H. destruct H as [H Hl].
  apply andb_true_iff in H. rewrite !Z.leb_le in H. split; [assumption|].
  unfold not_too_large, not_too_small. split.
  - destruct (Z.eqb_spec r 0); [left; assumption|]. right.
    destruct (0 <=? a); apply some_bracket_exists in Hl; destruct Hl as [k Hk]; exists k; apply Z.leb_le; assumption.
  - destruct (Z.eqb_spec r (bound p)); [left; assumption|]. right.
    destruct (0 <=? a); apply some_bracket_exists in Hu; destruct Hu as [k Hk]; exists k; apply Z.leb_le; assumption.
Qed.

Lemma table_rounds : forall brackets p table,
  forallb (fun a => rounding_is_shown brackets p a (from_table p table a)) (numbers p) = true ->
  correctly_rounded p (from_table p table).
Proof.
  intros brackets p table H a Ha. rewrite forallb_forall in H. apply (shown_rounds brackets), H.
  unfold representable in Ha. unfold numbers. apply in_map_iff. exists (Z.to_nat (a + bound p)).
  split; [lia | apply in_seq; lia].
Qed.
