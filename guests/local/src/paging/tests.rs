//! Pages join up: what one leaves out the next begins with.

use drivebay_sdk::listing;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn pages_give_every_entry_once(count in 0_usize..40, size in 1_u32..9) {
        let all: Vec<String> = (0..count).map(|number| format!("{number:03}")).collect();
        let mut seen = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let after = listing::start(token.as_deref()).unwrap().map(str::to_owned);
            let rest = all.iter().filter(|id| after.as_ref().is_none_or(|after| *id > after));
            let read: Vec<String> = rest.take(limit(Some(size)) + 1).cloned().collect();
            let page = cut(read, limit(Some(size)), |id| id);
            prop_assert!(page.entries.len() <= limit(Some(size)));
            prop_assert!(page.next_token.is_none() || !page.entries.is_empty());
            seen.extend(page.entries);
            token = page.next_token;
            if token.is_none() { break; }
        }
        prop_assert_eq!(seen, all);
    }
}

#[test]
fn a_page_without_a_size_has_the_usual_one() {
    assert_eq!((limit(None), limit(Some(0)), limit(Some(7)), limit(Some(u32::MAX))), (1_000, 1_000, 7, 1_000));
}
