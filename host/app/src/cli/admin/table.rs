//! Tables for people: columns as wide as their widest entry, and no wider.

/// Lays out rows below a heading; what is last in a row is never padded.
pub(in crate::cli) fn lay_out<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let heading = heading.map(ToOwned::to_owned);
    let all: Vec<&[String; N]> = std::iter::once(&heading).chain(rows).collect();
    let widths: [usize; N] =
        std::array::from_fn(|n| all.iter().filter_map(|row| Some(row.get(n)?.chars().count())).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    all.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "1".to_owned()], ["longer".to_owned(), String::new()]];
        assert_eq!(lay_out(["NAME", "N"], &rows), ["NAME    N", "a       1", "longer"]);
    }
}
