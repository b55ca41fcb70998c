(** SUM: left to right in index order, clipped after every addition. Terms that are 0 never change it. *)

From Coq Require Import ZArith Lia List Sorting.Sorted Arith.
From Unmask Require Import Numbers.
Import ListNotations.
Open Scope Z_scope.

(** The running sum after some more terms, and the sum of all terms. *)
Definition sum_from (p start : Z) (terms : list Z) : Z := fold_left (add p) terms start.
Definition sum (p : Z) (terms : list Z) : Z := sum_from p 0 terms.

Lemma sum_from_app : forall p xs ys s, sum_from p s (xs ++ ys) = sum_from p (sum_from p s xs) ys.
Proof. intros. apply fold_left_app. Qed.

Lemma sum_app : forall p xs ys, sum p (xs ++ ys) = sum_from p (sum p xs) ys.
Proof. intros. apply sum_from_app. Qed.

Lemma add_representable : forall p a b, 1 <= p -> representable p (add p a b).
Proof. intros. apply clip_representable. assumption. Qed.

Lemma add_0_r : forall p a, representable p a -> add p a 0 = a.
Proof. intros p a Ha. unfold add. rewrite Z.add_0_r. apply clip_identity. assumption. Qed.

Lemma add_0_l : forall p a, representable p a -> add p 0 a = a.
Proof. intros p a Ha. unfold add. apply clip_identity. assumption. Qed.

Lemma sum_from_representable : forall p xs s, 1 <= p -> representable p s -> representable p (sum_from p s xs).
Proof.
  intros p xs. induction xs as [|x xs IH]; intros s Hp Hs; simpl.
  - assumption.
  - apply IH; [assumption | apply add_representable; assumption].
Qed.

Lemma sum_representable : forall p xs, 1 <= p -> representable p (sum p xs).
Proof. intros. apply sum_from_representable; [assumption | apply zero_representable; assumption]. Qed.

Lemma sum_from_zeros : forall p (A : Type) (f : A -> Z) xs s,
  representable p s -> (forall x, In x xs -> f x = 0) -> sum_from p s (map f xs) = s.
Proof.
  intros p A f xs. induction xs as [|x xs IH]; intros s Hs Hf; simpl.
  - reflexivity.
  - rewrite (Hf x) by (left; reflexivity). rewrite add_0_r by assumption.
    apply IH; [assumption | intros; apply Hf; right; assumption].
Qed.

(** Zero terms can be left out: [keep] marks a superset of the nonzero ones. *)
Lemma sum_from_filter : forall p (A : Type) (f : A -> Z) (keep : A -> bool) xs s,
  1 <= p -> representable p s -> (forall x, In x xs -> keep x = false -> f x = 0) ->
  sum_from p s (map f xs) = sum_from p s (map f (filter keep xs)).
Proof.
  intros p A f keep xs. induction xs as [|x xs IH]; intros s Hp Hs Hf; simpl.
  - reflexivity.
  - destruct (keep x) eqn:E; simpl.
    + apply IH; [assumption | apply add_representable; assumption | intros; apply Hf; [right|]; assumption].
    + rewrite (Hf x) by (try (left; reflexivity); assumption). rewrite add_0_r by assumption.
      apply IH; [assumption | assumption | intros; apply Hf; [right|]; assumption].
Qed.

Lemma sum_filter : forall p (A : Type) (f : A -> Z) (keep : A -> bool) xs,
  1 <= p -> (forall x, In x xs -> keep x = false -> f x = 0) ->
  sum p (map f xs) = sum p (map f (filter keep xs)).
Proof. intros. apply sum_from_filter; [| apply zero_representable |]; assumption. Qed.

(** A sum with one nonzero term is that term. *)
Lemma sum_single : forall p (A : Type) (f : A -> Z) xs x,
  1 <= p -> representable p (f x) -> NoDup xs -> In x xs -> (forall y, In y xs -> y <> x -> f y = 0) ->
  sum p (map f xs) = f x.
Proof.
  intros p A f xs x Hp Hx Hnodup Hin Hf.
  apply in_split in Hin. destruct Hin as [before [after Hsplit]]. subst xs.
  rewrite map_app, sum_app. simpl.
  apply NoDup_remove_2 in Hnodup. rewrite in_app_iff in Hnodup.
  assert (Hbefore : sum p (map f before) = 0).
  { apply sum_from_zeros; [apply zero_representable; assumption|].
    intros y Hy. apply Hf; [rewrite in_app_iff; left; assumption | intro; subst; tauto]. }
  rewrite Hbefore.
  rewrite add_0_l by assumption. apply sum_from_zeros; [assumption|].
  intros y Hy. apply Hf; [rewrite in_app_iff; right; right; assumption | intro; subst; tauto].
Qed.

(** A sum over 0 … n-1 runs over the sorted places where a term may be nonzero. *)
Lemma sum_from_support : forall p (f : nat -> Z) n first places s,
  1 <= p -> representable p s ->
  StronglySorted lt places -> (forall k, In k places -> (first <= k < first + n)%nat) ->
  (forall k, (first <= k < first + n)%nat -> ~ In k places -> f k = 0) ->
  sum_from p s (map f (seq first n)) = sum_from p s (map f places).
Proof.
  intros p f n. induction n as [|n IH]; intros first places s Hp Hs Hsorted Hrange Hzero.
  - destruct places as [|k places]; [reflexivity|].
    specialize (Hrange k (or_introl eq_refl)). lia.
  - simpl. destruct places as [|k places].
    + rewrite Hzero by (try lia; intros []). rewrite add_0_r by assumption.
      apply (IH (S first) []); try assumption; [intros ? [] | intros; apply Hzero; [lia | assumption]].
    + inversion Hsorted as [|? ? Hrest Hall]; subst.
      rewrite Forall_forall in Hall.
      destruct (Nat.eq_dec k first) as [Heq|Hne].
      * subst k. simpl. apply IH; try assumption.
        -- apply add_representable; assumption.
        -- intros k Hk. specialize (Hrange k (or_intror Hk)). specialize (Hall k Hk). lia.
        -- intros k Hk Hout. apply Hzero; [lia|]. intros [->|Hin]; [lia | tauto].
      * rewrite Hzero.
        -- rewrite add_0_r by assumption. apply (IH (S first)); try assumption.
           ++ intros j Hj. pose proof (Hrange k (or_introl eq_refl)). specialize (Hrange j Hj).
              destruct Hj as [->|Hj]; [lia|]. specialize (Hall j Hj). lia.
           ++ intros j Hj Hout. apply Hzero; [lia | assumption].
        -- lia.
        -- intros [->|Hin]; [lia|]. specialize (Hall first Hin).
           specialize (Hrange k (or_introl eq_refl)). lia.
Qed.

Lemma sum_support : forall p (f : nat -> Z) n places,
  1 <= p -> StronglySorted lt places -> (forall k, In k places -> (k < n)%nat) ->
  (forall k, (k < n)%nat -> ~ In k places -> f k = 0) ->
  sum p (map f (seq 0 n)) = sum p (map f places).
Proof.
  intros p f n places Hp Hsorted Hrange Hzero. apply sum_from_support; try assumption.
  - apply zero_representable. assumption.
  - intros k Hk. specialize (Hrange k Hk). lia.
  - intros k Hk. apply Hzero. lia.
Qed.
