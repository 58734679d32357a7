//! Credentials for a registry, and the result of a search for them.

use std::fmt;

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum RegistryCredentials {
    Basic { user: String, password: String },
    IdentityToken(String),
}

impl RegistryCredentials {
    /// Creates credentials from a user name and a secret; the user name `<token>` marks an identity token.
    pub(crate) fn from_pair(user: &str, secret: &str) -> Option<Self> {
        if secret.is_empty() {
            return None;
        }
        Some(if user == "<token>" {
            Self::IdentityToken(secret.into())
        } else {
            Self::Basic { user: user.into(), password: secret.into() }
        })
    }
}

impl fmt::Debug for RegistryCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(redacted)")
    }
}

/// The result of a search for credentials.
#[derive(Clone, Debug, Default)]
pub(crate) struct CredentialLookup {
    pub(crate) credentials: Option<RegistryCredentials>,
    /// The file that has them, or the files that were searched and those that could not be read.
    pub(crate) summary: String,
}
