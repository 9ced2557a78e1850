//! However nodes come, those that have a volume together may.

use proptest::prelude::*;

use super::*;

const MODES: [AccessMode; 7] = [
    AccessMode::SingleNodeWriter,
    AccessMode::SingleNodeReaderOnly,
    AccessMode::MultiNodeReaderOnly,
    AccessMode::MultiNodeSingleWriter,
    AccessMode::MultiNodeMultiWriter,
    AccessMode::SingleNodeSingleWriter,
    AccessMode::SingleNodeMultiWriter,
];

fn at(node: u8, mode: usize, readonly: bool) -> Attachment {
    let mode = fit::mode_word(MODES[mode]).to_owned();
    Attachment { node: format!("node-{node}"), fingerprint: mode.clone(), mode, readonly }
}

proptest! {
    #[test]
    fn one_node_alone_or_many_that_bear_each_other(
        asked in prop::collection::vec((0_u8..4, 0_usize..7, any::<bool>()), 1..20)
    ) {
        let mut present: Vec<Attachment> = Vec::new();
        for (node, mode, readonly) in asked {
            let wanted = at(node, mode, readonly);
            match decide(&present, &wanted) {
                Ok(Decision::Attach) => present.push(wanted),
                Ok(Decision::Standing) => prop_assert!(present.contains(&wanted)),
                Err(refused) => prop_assert!(present.iter().any(|other| refused.message.contains(&other.node))),
            }
        }
        let several = |of: &Attachment| of.mode.starts_with("multi-node-");
        prop_assert!(present.len() == 1 || present.iter().all(several));
        let writers = present.iter().filter(|of| of.mode == "multi-node-single-writer" && !of.readonly);
        prop_assert!(writers.count() <= 1);
        for (index, one) in present.iter().enumerate() {
            prop_assert!(present[..index].iter().all(|other| other.node != one.node));
        }
    }
}
