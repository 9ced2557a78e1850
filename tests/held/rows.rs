//! What each RPC locks, as the design says it: reads `tests/facts/locks.tsv`. Knows no host code.

/// A line: an RPC, or one kind of its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub service: &'static str,
    pub method: &'static str,
    pub case: &'static str,
    pub exclusive: Vec<&'static str>,
    pub shared: Vec<&'static str>,
}

impl Row {
    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        !self.exclusive.is_empty()
    }

    /// `method`, or `method/case`.
    pub fn name(&self) -> String {
        if self.case == "-" { self.method.to_owned() } else { format!("{}/{}", self.method, self.case) }
    }

    /// What both want and one of them wants alone; none: they go together.
    pub fn conflict(&self, other: &Self) -> Option<&'static str> {
        let wants = |row: &Self, object: &str| row.exclusive.contains(&object) || row.shared.contains(&object);
        let mine = self.exclusive.iter().find(|object| wants(other, object));
        mine.or_else(|| self.shared.iter().find(|object| other.exclusive.contains(object))).copied()
    }
}

/// The rows of CSI; those of csi-addons are `addons::locks`' to show.
pub fn rows() -> Vec<Row> {
    let lines = include_str!("../facts/locks.tsv").lines().filter(|line| line.starts_with("csi.v1."));
    lines.map(|line| row(line).unwrap_or_else(|| panic!("not a row: {line}"))).collect()
}

fn row(line: &'static str) -> Option<Row> {
    let cells: Vec<_> = line.split('\t').collect();
    let [service, method, case, exclusive, shared, _source] = cells.as_slice() else { return None };
    let objects = |cell: &'static str| cell.split(',').filter(|object| *object != "-").collect();
    Some(Row { service, method, case, exclusive: objects(exclusive), shared: objects(shared) })
}

#[test]
fn every_method_has_a_row() {
    let methods = include_str!("../facts/methods.tsv").lines().filter(|line| line.starts_with("csi.v1."));
    let rows = rows();
    for line in methods {
        let mut cells = line.split('\t');
        let (service, method) = (cells.next().unwrap(), cells.next().unwrap());
        assert!(rows.iter().any(|row| (row.service, row.method) == (service, method)), "{service}/{method}");
    }
    assert_eq!(rows.iter().filter(|row| row.changes()).count(), 17);
}
