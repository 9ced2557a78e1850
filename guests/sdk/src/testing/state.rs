//! The state of the host for unit tests, with the functions of the contract's `state`.

use super::with;
use crate::bindings::host::drivebay::host::state::{Change, Entry, Error};

/// As `state.get`.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    Ok(with(|host| host.state.get(key).cloned()))
}

/// As `state.range`.
pub(crate) fn range(prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Entry>, Error> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(with(|host| {
        let from = host.state.iter().filter(|(key, _)| key.starts_with(prefix));
        let from = from.filter(|(key, _)| after.is_none_or(|after| key.as_str() > after));
        from.take(limit).map(|(key, value)| Entry { key: key.clone(), value: value.clone() }).collect()
    }))
}

/// As `state.commit`: each change sees those before it, and a failed one leaves nothing of them.
pub(crate) fn commit(changes: &[Change]) -> Result<(), Error> {
    with(|host| {
        if host.conflicts > 0 {
            host.conflicts -= 1;
            return Err(Error::Conflict("another call".to_owned()));
        }
        let mut state = host.state.clone();
        for change in changes {
            match change {
                Change::Put(entry) => drop(state.insert(entry.key.clone(), entry.value.clone())),
                Change::Delete(key) => drop(state.remove(key)),
                Change::Expect(expected) if state.get(&expected.key) == expected.value.as_ref() => {}
                Change::Expect(expected) => return Err(Error::Conflict(expected.key.clone())),
            }
        }
        host.state = state;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{commit, get, range};
    use crate::bindings::host::drivebay::host::state::Error;
    use crate::state::Commit;
    use crate::testing;

    #[test]
    fn a_commit_is_all_or_nothing() {
        commit(Commit::new().put("a", "1").put("b", "2").changes()).unwrap();
        let refused = commit(Commit::new().put("c", "3").delete("a").expect_absent("b").changes());
        assert_eq!(refused, Err(Error::Conflict("b".to_owned())));
        assert_eq!(testing::keys(), ["a", "b"]);
        commit(Commit::new().expect("a", Some(b"1".to_vec())).delete("a").changes()).unwrap();
        assert_eq!((get("a"), get("b")), (Ok(None), Ok(Some(b"2".to_vec()))));
        testing::reset();
        assert!(testing::keys().is_empty());
    }

    #[test]
    fn a_range_goes_on_after_a_key() {
        commit(Commit::new().put("v/1", "").put("v/2", "").put("v/3", "").put("w", "").changes()).unwrap();
        let keys = |after, limit| -> Vec<String> {
            range("v/", after, limit).unwrap().into_iter().map(|entry| entry.key).collect()
        };
        assert_eq!(keys(None, 2), ["v/1", "v/2"]);
        assert_eq!(keys(Some("v/2"), 2), ["v/3"]);
        let all: Result<Vec<_>, _> = crate::state::range("v/").collect();
        assert_eq!(all.unwrap().len(), 3);
    }

    #[test]
    fn each_thread_has_a_host_of_its_own() {
        commit(Commit::new().put("here", "").changes()).unwrap();
        let there = std::thread::spawn(testing::keys).join().unwrap();
        assert!(there.is_empty(), "{there:?}");
    }
}
