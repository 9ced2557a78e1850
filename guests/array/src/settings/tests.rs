//! What is taken and what is refused.

use super::Settings;

fn parse(given: &[(&str, &str)]) -> Result<Settings, String> {
    let given: Vec<_> = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Settings::parse(&given).map_err(|error| error.message)
}

#[test]
fn an_origin_and_nothing_else() {
    assert_eq!(parse(&[("url", "https://a:1/")]).unwrap().url, "https://a:1");
    for wrong in ["http://a", "https://", "https://a/path", "a"] {
        assert!(parse(&[("url", wrong)]).is_err(), "{wrong}");
    }
    assert!(parse(&[]).unwrap_err().contains("missing"));
    assert!(parse(&[("url", "https://a"), ("password", "x")]).unwrap_err().contains("password"));
}
