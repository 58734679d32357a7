//! Logging in: from a challenge to the value of the `Authorization` header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde::Deserialize;

use crate::oci::challenge::Challenge;
use crate::oci::credentials::Credentials;
use crate::oci::credentials::Lookup;
use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::http::Ask;
use crate::oci::http::Http;
use crate::oci::http::Patience;
use crate::oci::http::authority;
use crate::oci::page::words;

/// The largest answer of a token service.
const TOKEN_CAP: u64 = 1 << 20;

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Answers a challenge; no value means that nothing is left to try.
pub(crate) async fn answer(
    http: &Http,
    challenge: &Challenge,
    repository: &str,
    lookup: &Lookup,
) -> Result<Option<HeaderValue>, Problem> {
    match (challenge, &lookup.credentials) {
        (Challenge::Basic, Some(Credentials::Basic { user, password })) => Ok(Some(basic(user, password)?)),
        (Challenge::Basic, _) => Ok(None),
        (Challenge::Bearer { realm, service, scope }, credentials) => {
            let realm = Url::parse(realm).map_err(|_| Problem::Challenge {
                reason: format!("the token service `{}` is not a valid address", one_line(realm, 200)),
            })?;
            let pull = format!("repository:{repository}:pull");
            let scope = scope.as_deref().unwrap_or(&pull);
            let ask = token_request(realm, service.as_deref(), scope, credentials.as_ref())?;
            let token = fetch(http, &ask, lookup).await?;
            Ok(Some(secret(&format!("Bearer {token}"))?))
        }
    }
}

fn token_request(
    realm: Url,
    service: Option<&str>,
    scope: &str,
    credentials: Option<&Credentials>,
) -> Result<Ask, Problem> {
    let patience = Patience::Whole;
    let mut ask = Ask {
        url: realm,
        accept: "application/json",
        authorization: None,
        form: None,
        cap: TOKEN_CAP,
        from: 0,
        patience,
    };
    let service = service.map(|service| ("service", service));
    match credentials {
        Some(Credentials::IdentityToken(token)) => {
            // The query of a scratch address is a form, encoded.
            let mut scratch = ask.url.clone();
            scratch
                .query_pairs_mut()
                .clear()
                .append_pair("grant_type", "refresh_token")
                .append_pair("client_id", "imagelint")
                .append_pair("refresh_token", token)
                .append_pair("scope", scope)
                .extend_pairs(service);
            ask.form = scratch.query().map(ToOwned::to_owned);
        }
        other => {
            ask.url.query_pairs_mut().extend_pairs(service).append_pair("scope", scope);
            if let Some(Credentials::Basic { user, password }) = other {
                ask.authorization = Some(basic(user, password)?);
            }
        }
    }
    Ok(ask)
}

async fn fetch(http: &Http, ask: &Ask, lookup: &Lookup) -> Result<String, Problem> {
    let answer = http.send(ask).await?;
    if let Some(page) = answer.page() {
        return Err(page);
    }
    let status = answer.status.as_u16();
    let by = format!("the token service {}", authority(&ask.url));
    let said = words(&answer.body);
    match status {
        200 => {}
        400 | 401 | 403 => {
            return Err(Problem::Unauthorized { by, status, said, credentials: lookup.told.clone() });
        }
        _ => {
            let said = format!("{by}: {said}");
            return Err(Problem::Status { status, said, tries: answer.tries });
        }
    }
    let broken = || Problem::Challenge { reason: format!("{by} returned no token") };
    let token: Token = serde_json::from_slice(&answer.body).map_err(|_| broken())?;
    let given = [token.token, token.access_token].into_iter().flatten();
    given.into_iter().find(|token| !token.is_empty()).ok_or_else(broken)
}

fn basic(user: &str, password: &str) -> Result<HeaderValue, Problem> {
    secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// A header value that no log shows.
fn secret(text: &str) -> Result<HeaderValue, Problem> {
    let mut value = HeaderValue::from_str(text).map_err(|_| Problem::Challenge {
        reason: "the token contains characters that are not allowed in a header".into(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}
