//! Which test proves which rule of the protocols, and that every id is defined in `proto/RULES.md`. The ids are those of the traps (T) and decisions (D)
//! that comments in the sources name; a rule without a test, or a test that is gone, fails here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every rule that needs a test of its own.
const REQUIRED: [&str; 22] = [
    "T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "T10", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9",
    "D10", "D11", "D12",
];

/// A rule, and a test as file and function.
const PROOFS: [(&str, &str, &str); 51] = [
    ("T1", "host/contract/src/check/tests/traps.rs", "t1_relative_paths_pass_where_a_volume_is_only_looked_for"),
    ("T1", "tests/traps.rs", "t1_a_relative_path_of_an_unknown_volume_is_not_found"),
    ("T2", "host/contract/src/check/tests/traps.rs", "t2_members_of_a_group_snapshot_may_be_left_out"),
    ("T2", "tests/traps.rs", "t2_an_unknown_group_snapshot_has_no_members_to_name"),
    ("T3", "host/contract/src/check/tests/addons.rs", "t3_upkeep_takes_what_the_sidecar_sends"),
    ("T3", "tests/addons/upkeep.rs", "t3_the_sidecar_leaves_out_what_the_contract_demands"),
    ("T4", "host/contract/src/check/tests/traps.rs", "t4_contexts_may_have_keys_that_the_client_added"),
    ("T4", "tests/traps.rs", "t4_clients_add_keys_to_the_context"),
    ("T5", "host/contract/src/check/tests/traps.rs", "t5_maps_of_clients_may_pass_the_limits_of_the_specification"),
    ("T5", "tests/traps.rs", "t5_certificates_are_longer_than_the_specification_allows"),
    ("T6", "host/contract/src/check/tests/traps.rs", "t6_ephemeral_volumes_are_published_without_staging"),
    ("T6", "tests/traps.rs", "t6_ephemeral_volumes_are_published_without_staging"),
    ("T7", "host/contract/src/check/tests/traps.rs", "t7_any_form_of_id_passes_where_unknown_is_success"),
    ("T7", "tests/traps.rs", "t7_deleting_what_never_was_is_success"),
    ("T8", "host/contract/src/check/tests/addons.rs", "t8_sources_of_replication"),
    ("T8", "tests/addons/dialects.rs", "t8_the_older_field_is_not_looked_at"),
    ("T9", "host/server/src/authority/tests.rs", "t9_an_authority_that_does_not_parse_is_served"),
    ("T9", "tests/clients/beside.rs", "t9_sound_connections_beside_rewritten_ones_get_every_answer"),
    ("T9", "tests/clients/mod.rs", "t9_python_makes_every_call"),
    ("T10", "host/contract/src/check/tests/traps.rs", "t10_unknown_modes_are_refused"),
    ("T10", "tests/traps.rs", "t10_what_clients_do_not_know_can_be_hidden_and_what_they_knew_shown"),
    ("T10", "tests/traps.rs", "t10_the_condition_that_is_announced_is_listed"),
    ("D1", "tests/contract/mod.rs", "the_served_contract_is_the_released_one"),
    ("D1", "tests/traps.rs", "t10_what_clients_do_not_know_can_be_hidden_and_what_they_knew_shown"),
    ("D2", "tests/addons/dialects.rs", "d2_every_generation_of_clients_has_the_same_effects"),
    ("D2", "tests/addons/dialects.rs", "d2_groups_and_snapshots_are_sources_like_volumes"),
    ("D3", "tests/addons/replication.rs", "d3_the_host_never_invites_force"),
    ("D4", "tests/addons/groups.rs", "d4_a_volume_in_a_group_is_not_deleted"),
    ("D4", "tests/addons/groups.rs", "d4_deleting_an_unknown_group_is_success"),
    ("D4", "tests/addons/groups.rs", "d4_the_volumes_go_with_their_group_or_keep_it"),
    ("D5", "host/error/src/tests.rs", "an_unknown_outcome_of_a_change_is_never_final"),
    ("D5", "host/error/src/tests.rs", "replication_faults_are_unknown"),
    ("D5", "tests/calls.rs", "a_crash_leaves_the_outcome_open_and_the_host_up"),
    ("D5", "tests/addons/replication.rs", "unclassified_failures_are_unknown"),
    ("D5", "tests/limits.rs", "waiting_without_end"),
    ("D6", "host/contract/src/check/tests/traps.rs", "d6_names_and_ids_are_held_to_their_size"),
    ("D7", "tests/locks.rs", "every_pair_of_changes"),
    ("D7", "tests/locks.rs", "what_shares_nothing_or_only_reads_goes_together"),
    ("D7", "tests/addons/locks.rs", "every_pair_of_changes"),
    ("D7", "tests/addons/locks.rs", "what_shares_nothing_goes_together"),
    ("D7", "tests/calls.rs", "a_call_goes_on_after_its_deadline"),
    ("D8", "tests/calls.rs", "probe_tells_how_the_backend_feels_and_never_fails"),
    ("D8", "tests/recovery.rs", "nobody_is_let_in_before_recovery_succeeds"),
    ("D8", "tests/calls.rs", "identity_answers_while_every_place_is_taken"),
    ("D10", "host/server/src/authority/tests.rs", "sound_authorities_pass_as_they_are"),
    ("D10", "host/server/src/authority/tests.rs", "a_sound_connection_is_free_after_its_first_block"),
    ("D11", "tests/addons/replication.rs", "d11_other_parameters_are_the_backends_to_judge"),
    ("D12", "host/contract/src/check/tests/addons.rs", "d12_kinds_of_sources_that_a_backend_lacks"),
    ("D12", "tests/addons/replication.rs", "d12_snapshots_only_where_the_backend_has_the_feature"),
    ("D9", "host/backend/src/lifecycle/tests/mod.rs", "other_capabilities_close_the_connections"),
    ("D9", "tests/swaps/spanning.rs", "connections_close_on_purpose_when_the_capabilities_change_and_only_then"),
];

/// Every id of a rule in a text: one of the letters with its number.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_rule = |word: &&str| {
        let (letter, number) = word.split_at(word.len().min(1));
        let (number, digits) = match letter {
            "T" | "D" => (number, 1..=2),
            "R" | "G" | "C" | "E" => (number.strip_prefix('-').unwrap_or_default(), 2..=2),
            _ => return false,
        };
        digits.contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    words.filter(is_rule).map(str::to_owned).collect()
}

/// All files of the project's own, by their paths.
fn texts(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    const KINDS: [&str; 7] = ["rs", "md", "proto", "wit", "toml", "tsv", "py"];
    const OTHERS: [&str; 4] = ["target", ".git", "corpus", "node_modules"];
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && !OTHERS.iter().any(|other| name == *other) {
            texts(&path, found);
        } else if path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known)) {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Ids that tests make up, because there are no such rules.
const MADE_UP: [&str; 1] = ["R-99"];

#[test]
fn every_id_that_is_named_is_defined() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = root.join("proto/RULES.md");
    let rules = std::fs::read_to_string(&page).unwrap();
    let rows = rules.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let rows: Vec<_> = rows.filter(|(id, _)| !named(id).is_empty()).collect();
    let defined: BTreeSet<_> = rows.iter().flat_map(|(id, _)| named(id)).collect();
    for id in REQUIRED {
        assert!(defined.contains(id), "{id} is not defined");
    }
    for (id, rule) in &rows {
        assert_eq!(rows.iter().filter(|(other, _)| other == id).count(), 1, "{id} stands twice");
        assert!(rule.len() > 5, "{id} says nothing");
    }
    let mut found = Vec::new();
    texts(root, &mut found);
    for (path, text) in found.iter().filter(|(path, _)| *path != page) {
        for id in named(text).iter().filter(|id| !MADE_UP.contains(&id.as_str())) {
            assert!(defined.contains(id), "{}: {id} is not defined in proto/RULES.md", path.display());
        }
    }
    for (path, text) in &found {
        let words: Vec<_> = text.split_whitespace().collect();
        for pair in words.windows(2).filter(|pair| matches!(pair[0], "seed" | "seeds")) {
            let number: String = pair[1].chars().take_while(char::is_ascii_digit).collect();
            let is_known = number.len() != 3 || rules.contains(&format!("| seed {number} |"));
            assert!(is_known, "{}: seed {number} is not defined", path.display());
        }
    }
    let used: BTreeSet<_> = found.iter().filter(|(path, _)| *path != page).flat_map(|(_, text)| named(text)).collect();
    let unused: Vec<_> = defined.difference(&used).collect();
    assert!(unused.is_empty(), "nobody names {unused:?}");
}

#[test]
fn ids_are_words_of_their_own() {
    let all = named("(T4), R-07; D9. G-2 C-123 T100 XR-01 E-0a X-76 T1: sha-D1");
    assert_eq!(all.into_iter().collect::<Vec<_>>(), ["D9", "R-07", "T1", "T4"]);
}

/// Whether a text has a function of this name that runs as a test.
pub fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let declared = [format!("fn {name}("), format!("async fn {name}(")];
    let at = lines.iter().position(|line| declared.iter().any(|start| line.starts_with(start.as_str())));
    let Some(at) = at else { return false };
    let marks: Vec<_> =
        lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//")).collect();
    let runs = marks.iter().any(|mark| mark.starts_with("#[test]") || mark.starts_with("#[tokio::test"));
    runs && !marks.iter().any(|mark| mark.starts_with("#[ignore"))
}

#[test]
fn every_rule_has_a_test() {
    for id in REQUIRED {
        assert!(PROOFS.iter().any(|(proved, ..)| *proved == id), "{id} has no test");
    }
}

#[test]
fn every_named_test_is_there() {
    for (id, file, name) in PROOFS {
        assert!(REQUIRED.contains(&id), "{id} is no rule");
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        assert!(has_test(&text, name), "{id}: {file} has no test {name}");
    }
}

#[test]
fn what_does_not_run_is_no_test() {
    assert!(has_test("#[test]\n/// D1\nfn a() {}", "a") && has_test("  #[tokio::test]\n  async fn a() {}", "a"));
    for text in
        ["fn a() {}", "#[test]\nfn ab() {}", "#[test]\n#[ignore = \"x\"]\nfn a() {}", "#[test]\nfn b() {}\nfn a() {}"]
    {
        assert!(!has_test(text, "a"), "{text}");
    }
}
