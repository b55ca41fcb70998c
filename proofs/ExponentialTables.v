(** The correctly rounded exponential for p = 1 … 4: entry a + B is [e^(a/2^p)], an integer scaled by 2^p.

    The package's own tables, which a test compares entry by entry; here each entry is proved to be the nearest number. *)

From Coq Require Import ZArith Lia List.
From Unmask Require Import Numbers Exponential CorrectRounding.
Import ListNotations.
Open Scope Z_scope.

Definition table_1 : list Z :=
  [0; 1; 1; 2; 3; 3; 3].

Definition table_2 : list Z :=
  [0; 0; 0; 0; 0; 0; 0; 1; 1; 1; 1; 1; 2; 2; 3; 4; 5; 7; 8; 11; 14; 15; 15; 15; 15; 15; 15; 15; 15; 15; 15].

Definition table_3 : list Z :=
  [0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0;
   0; 0; 0; 0; 1; 1; 1; 1; 1; 1; 1; 1; 1; 2; 2; 2; 2; 3; 3; 3; 4; 4; 5; 5; 6; 7; 8; 9; 10; 12; 13; 15; 17; 19;
   22; 25; 28; 32; 36; 41; 46; 52; 59; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63;
   63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63; 63;
   63; 63].

Definition table_4 : list Z :=
  [0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0;
   0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0;
   0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0;
   0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0;
   0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0;
   0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 1; 2; 2; 2; 2;
   2; 2; 2; 2; 3; 3; 3; 3; 3; 4; 4; 4; 4; 5; 5; 5; 6; 6; 6; 7; 7; 8; 8; 9; 9; 10; 10; 11; 12; 12; 13; 14; 15; 16;
   17; 18; 19; 21; 22; 23; 25; 26; 28; 30; 32; 34; 36; 38; 41; 43; 46; 49; 52; 56; 59; 63; 67; 72; 76; 81; 86;
   92; 98; 104; 111; 118; 126; 134; 143; 152; 162; 172; 183; 195; 207; 221; 235; 250; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255; 255;
   255; 255; 255; 255; 255; 255; 255; 255].

Lemma table_1_rounds : correctly_rounded 1 (from_table 1 table_1).
Proof. apply (table_rounds [3; 11]%nat). vm_compute. reflexivity. Qed.
Definition exponential_1 : exponential 1 := exponential_of_rounding 1 ltac:(lia) _ table_1_rounds.

Lemma table_2_rounds : correctly_rounded 2 (from_table 2 table_2).
Proof. apply (table_rounds [3; 11]%nat). vm_compute. reflexivity. Qed.
Definition exponential_2 : exponential 2 := exponential_of_rounding 2 ltac:(lia) _ table_2_rounds.

Lemma table_3_rounds : correctly_rounded 3 (from_table 3 table_3).
Proof. apply (table_rounds [3; 11]%nat). vm_compute. reflexivity. Qed.
Definition exponential_3 : exponential 3 := exponential_of_rounding 3 ltac:(lia) _ table_3_rounds.

Lemma table_4_rounds : correctly_rounded 4 (from_table 4 table_4).
Proof. apply (table_rounds [3; 11]%nat). vm_compute. reflexivity. Qed.
Definition exponential_4 : exponential 4 := exponential_of_rounding 4 ltac:(lia) _ table_4_rounds.
