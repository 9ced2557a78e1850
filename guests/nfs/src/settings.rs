//! What the operator wrote for this backend: where the export is. An unknown key is an error.

use drivebay_sdk::{Error, Result, config};

/// The settings of one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The server, as nodes reach it.
    pub(crate) server: String,
    /// The exported path.
    pub(crate) export: String,
}

impl Settings {
    /// The settings of this host.
    pub(crate) fn load() -> Result<Self> {
        Self::parse(&config::get_all()?)
    }

    /// Reads the settings. `invalid-argument`: one is unknown, missing or wrong.
    fn parse(given: &[(String, String)]) -> Result<Self> {
        let (mut server, mut export) = (None, None);
        for (key, value) in given {
            match key.as_str() {
                "server" => server = Some(value.clone()),
                "export" => export = Some(value.clone()),
                unknown => return Err(Error::invalid_argument(format!("the setting {unknown} is unknown"))),
            }
        }
        let missing = |key: &str| Error::invalid_argument(format!("the setting {key} is missing"));
        let server = server.filter(|server| !server.is_empty()).ok_or_else(|| missing("server"))?;
        let export = export.ok_or_else(|| missing("export"))?;
        if !export.starts_with('/') || (export.len() > 1 && export.ends_with('/')) {
            return Err(Error::invalid_argument(
                "the setting export must be an absolute path without a slash at its end",
            ));
        }
        Ok(Self { server, export })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(given: &[(&str, &str)]) -> Result<Settings> {
        let given: Vec<_> = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Settings::parse(&given)
    }

    #[test]
    fn both_settings_are_needed_and_no_other_is_known() {
        let settings = parse(&[("server", "10.20.0.5"), ("export", "/exports/pool")]).unwrap();
        assert_eq!((&*settings.server, &*settings.export), ("10.20.0.5", "/exports/pool"));
        assert!(parse(&[("server", "filer.example"), ("export", "/")]).is_ok());
        let wrong: [&[(&str, &str)]; 6] = [
            &[("server", "10.20.0.5")],
            &[("export", "/a")],
            &[("server", ""), ("export", "/a")],
            &[("server", "s"), ("export", "a")],
            &[("server", "s"), ("export", "/a/")],
            &[("server", "s"), ("export", "/a"), ("exprot", "/a")],
        ];
        for given in wrong {
            assert!(parse(given).is_err(), "{given:?}");
        }
    }
}
