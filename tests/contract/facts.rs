//! Reads `tests/facts` and says each fact as one line. It knows the columns of those files and
//! nothing of descriptors: the two sides of the comparison share only the wording of the lines, or
//! one mistake would hide another.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};

use super::Lines;

/// One line of a facts file. The header's columns come with it, so that no code counts cells.
#[derive(Clone, Debug)]
pub struct Row {
    cells: Vec<(&'static str, String)>,
}

/// All facts files, each as its rows.
pub struct Facts {
    methods: Vec<Row>,
    fields: Vec<Row>,
    values: Vec<Row>,
    options: Vec<Row>,
}

impl Row {
    fn get(&self, column: &str) -> &str {
        let cell = self.cells.iter().find(|(name, _)| *name == column);
        cell.map_or("", |(_, value)| value)
    }

    /// Replaces the content of a column.
    pub fn set(&mut self, column: &str, value: &str) {
        for (_, cell) in self.cells.iter_mut().filter(|(name, _)| *name == column) {
            value.clone_into(cell);
        }
    }

    /// Whether the row keeps a number from being used instead of naming a field or value.
    pub fn is_reserved(&self) -> bool {
        self.get("field") == "(reserved)" || self.get("value") == "(reserved)"
    }

    /// Whether the row tells about a field, value, method or option, and not only that there is
    /// none.
    pub fn names_something(&self) -> bool {
        self.get("field") != "-" && !self.is_reserved()
    }

    /// The columns that say something about what the row names: neither its name nor its origin.
    pub fn telling_columns(&self) -> Vec<&'static str> {
        let naming = ["service", "method", "message", "field", "enum", "value", "option", "origin"];
        self.cells.iter().map(|(column, _)| *column).filter(|column| !naming.contains(column)).collect()
    }
}

impl Facts {
    /// Reads the files as they were when the tests were built.
    pub fn read() -> anyhow::Result<Self> {
        Ok(Self {
            methods: rows(include_str!("../facts/methods.tsv")).context("methods.tsv")?,
            fields: rows(include_str!("../facts/messages.tsv")).context("messages.tsv")?,
            values: rows(include_str!("../facts/enums.tsv")).context("enums.tsv")?,
            options: rows(include_str!("../facts/options.tsv")).context("options.tsv")?,
        })
    }

    /// The files' rows, to be changed by tests of the comparison.
    pub fn tables(&mut self) -> [&mut Vec<Row>; 4] {
        [&mut self.methods, &mut self.fields, &mut self.values, &mut self.options]
    }

    /// How many lines carry a marking that this project or a protocol defines, as opposed to
    /// protobuf's own.
    pub fn marked_lines(&self) -> usize {
        let defined = |line: &&String| self.options.iter().any(|option| line.contains(option.get("option")));
        self.lines().values().filter(defined).count()
    }

    /// The facts in the wording of the comparison.
    pub fn lines(&self) -> Lines {
        let mut lines = Lines::new();
        for row in &self.methods {
            lines.insert(format!("service {}", row.get("service")), String::new());
            add(&mut lines, format!("method {}.{}", row.get("service"), row.get("method")), self.method(row));
        }
        for row in &self.fields {
            let message = row.get("message");
            lines.insert(format!("message {message}"), "options=".to_owned());
            match row.get("field") {
                "-" => {}
                "(reserved)" => reserve(&mut lines, message, row, &self.fields, "message"),
                field => add(&mut lines, format!("field {message}.{field}"), self.field(row)),
            }
        }
        for row in &self.values {
            let name = row.get("enum");
            lines.insert(format!("enum {name}"), "options=".to_owned());
            match row.get("value") {
                "(reserved)" => reserve(&mut lines, name, row, &self.values, "enum"),
                value => add(&mut lines, format!("value {name}.{value}"), self.value(row)),
            }
        }
        for row in &self.options {
            let (extends, number, kind) = (row.get("extends"), row.get("number"), row.get("type"));
            let line = format!("extends={extends} number={number} type={kind}");
            add(&mut lines, format!("option {}", row.get("option")), line);
        }
        lines
    }

    fn method(&self, row: &Row) -> String {
        let (request, response, kind) = (row.get("request"), row.get("response"), row.get("kind"));
        let options = self.full_options(row.get("service"), row.get("options"));
        format!("request={request} response={response} kind={kind} options={options}")
    }

    fn field(&self, row: &Row) -> String {
        let (number, kind, label) = (row.get("number"), row.get("type"), row.get("label"));
        let options = self.full_options(row.get("message"), row.get("options"));
        format!("number={number} type={kind} label={label} oneof={} options={options}", row.get("oneof"))
    }

    fn value(&self, row: &Row) -> String {
        let options = self.full_options(row.get("enum"), row.get("options"));
        format!("number={} options={options}", row.get("number"))
    }

    /// The marking that a short word means where it is used: the nearest enclosing package that
    /// defines it, as in protobuf itself, then `csi.v1`, whose markings the add-ons share.
    fn full_option(&self, place: &str, word: &str) -> String {
        let scopes = place.rmatch_indices('.').filter_map(|(end, _)| place.get(..end));
        let mut names = scopes.chain(["csi.v1"]).map(|scope| format!("{scope}.{word}"));
        let defined = |name: &String| self.options.iter().any(|option| option.get("option") == name);
        names.find(defined).unwrap_or_else(|| word.to_owned())
    }

    fn full_options(&self, place: &str, words: &str) -> String {
        let words = words.split(',').filter(|word| !word.is_empty());
        let names: BTreeSet<String> = words.map(|word| self.full_option(place, word)).collect();
        names.into_iter().collect::<Vec<_>>().join(",")
    }
}

/// Two rows of one name become one line that no descriptor can match.
fn add(lines: &mut Lines, name: String, line: String) {
    lines.entry(name).and_modify(|first| *first = format!("{first} and {line}")).or_insert(line);
}

/// A number stays reserved unless a row of an older origin uses it.
fn reserve(lines: &mut Lines, owner: &str, row: &Row, rows: &[Row], column: &str) {
    let same = |other: &&Row| other.get(column) == owner && other.get("number") == row.get("number");
    if !rows.iter().filter(same).any(|other| !other.is_reserved()) {
        add(lines, format!("reserved {owner} {}", row.get("number")), String::new());
    }
}

fn rows(text: &'static str) -> anyhow::Result<Vec<Row>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().context("no header")?.split('\t').collect();
    lines
        .map(|line| {
            let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
            ensure!(cells.len() == header.len(), "{} columns wanted: {line}", header.len());
            Ok(Row { cells: header.iter().copied().zip(cells).collect() })
        })
        .collect()
}
