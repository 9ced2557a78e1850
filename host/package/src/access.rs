//! How a repository is reached: the operator's files with credentials and authorities, and mirrors. Reads those files and
//! may start a credential helper, so it is never called by the process that runs guests; connects nowhere.

use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use drivebay_policy::package::{Reference, Registries};

use crate::registry::{Access, Credential};

/// Docker's own registry is known to its tools by another name.
const HUB: (&str, &str) = ("docker.io", "https://index.docker.io/v1/");
/// Where it answers.
const HUB_HOST: &str = "registry-1.docker.io";

/// Reads what is needed for a package.
///
/// # Errors
/// When a file that was named cannot be used.
pub(crate) fn open(reference: &Reference, registries: &Registries) -> Result<Access> {
    let (registry, repository) = place(reference, registries);
    let credential = credential(&registry, registries.credentials.as_deref())?;
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    let ca = registries.ca.iter().map(read).collect::<Result<_>>()?;
    let registry = if registry == HUB.0 { HUB_HOST.to_owned() } else { registry };
    Ok(Access { registry, repository, credential, ca, plain_http: registries.plain_http.clone() })
}

/// The host that is asked, and the repository there.
fn place(reference: &Reference, registries: &Registries) -> (String, String) {
    let Reference { registry, repository, .. } = reference;
    let Some(mirror) = registries.mirrors.get(registry) else { return (registry.clone(), repository.clone()) };
    match mirror.split_once('/') {
        Some((host, path)) => (host.to_owned(), format!("{}/{repository}", path.trim_end_matches('/'))),
        None => (mirror.clone(), repository.clone()),
    }
}

/// What the container tools have stored for a registry; none: nothing.
fn credential(registry: &str, file: Option<&Path>) -> Result<Option<Credential>> {
    let name = if registry == HUB.0 { HUB.1 } else { registry };
    let found = match file {
        Some(path) => {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            taken(docker_credential::get_credential_from_reader(file, name))
                .with_context(|| path.display().to_string())?
        }
        None => match taken(docker_credential::get_credential(name)).context("the container tools' credentials")? {
            Some(found) => Some(found),
            None => taken(docker_credential::get_podman_credential(name)).context("podman's credentials")?,
        },
    };
    Ok(found.map(|found| match found {
        DockerCredential::IdentityToken(token) => Credential::Identity(token),
        DockerCredential::UsernamePassword(name, password) => Credential::Basic(name, password),
    }))
}

fn taken(found: Result<DockerCredential, CredentialRetrievalError>) -> Result<Option<DockerCredential>> {
    match found {
        Ok(found) => Ok(Some(found)),
        // No file at the usual place is reported as one that cannot be read, too.
        Err(
            CredentialRetrievalError::NoCredentialConfigured
            | CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::ConfigReadError,
        ) => Ok(None),
        // What a helper printed may be a secret.
        Err(CredentialRetrievalError::HelperFailure { helper, .. }) => bail!("the credential helper {helper} failed"),
        Err(error) => bail!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_those_of_the_registry_that_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let (file, ca) = (directory.path().join("config.json"), directory.path().join("ca.pem"));
        std::fs::write(&file, r#"{"auths":{"r.example:5000":{"auth":"YTpi"},"m.example":{"identitytoken":"t"}}}"#)
            .unwrap();
        std::fs::write(&ca, "pem").unwrap();
        let mut registries = Registries { credentials: Some(file), ca: vec![ca.clone()], ..Registries::default() };
        let open = |text: &str, registries: &Registries| super::open(&text.parse().unwrap(), registries);
        let access = open("oci://r.example:5000/a:1", &registries).unwrap();
        assert_eq!(access.credential, Some(Credential::Basic("a".to_owned(), "b".to_owned())));
        assert_eq!(access.ca, ["pem"]);
        assert_eq!(
            open("oci://r.example/a:1", &registries).unwrap().credential,
            None,
            "another port is another registry"
        );
        registries.mirrors.insert("r.example:5000".to_owned(), "m.example/cache/".to_owned());
        let access = open("oci://r.example:5000/a:1", &registries).unwrap();
        assert_eq!((&*access.registry, &*access.repository), ("m.example", "cache/a"));
        assert_eq!(access.credential, Some(Credential::Identity("t".to_owned())));
        std::fs::remove_file(ca).unwrap();
        assert!(open("oci://r.example/a:1", &registries).is_err(), "an authority that was named must be there");
    }
}
