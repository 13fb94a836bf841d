//! Who may see and do what: the token in the link becomes a strict cookie, `Host` and `Origin` are checked,
//! and every response forbids scripts of other origins.

use super::App;
use crate::page::message::problem;
use crate::shot::Medium;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::Markup;
use std::net::IpAddr;
use std::sync::Arc;
use wavecrew_core::encoding::hex;

/// Only our own script and style; forms and connections only to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Files that every page needs, error pages included.
const PUBLIC: [&str; 3] = ["/style.css", "/script.js", "/icon.svg"];

/// The secrets of a server's links.
#[derive(Clone, Debug)]
pub struct Access {
    /// May do everything.
    pub full: String,
    /// May only read.
    pub view: String,
}

impl Access {
    /// New random secrets.
    pub fn random() -> std::io::Result<Self> {
        Ok(Self {
            full: random()?,
            view: random()?,
        })
    }

    fn medium(&self, token: &str) -> Option<Medium> {
        if same(token, &self.full) {
            Some(Medium::Full)
        } else if same(token, &self.view) {
            Some(Medium::ReadOnly)
        } else {
            None
        }
    }
}

fn random() -> std::io::Result<String> {
    let mut bytes = [0_u8; 24];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(hex(&bytes))
}

/// Compares in constant time.
fn same(one: &str, other: &str) -> bool {
    let differences = one
        .bytes()
        .zip(other.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differences == 0
}

pub async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let mut answer = match check(&app, &request) {
        Ok(medium) => {
            request.extensions_mut().insert(medium);
            next.run(request).await
        }
        Err(refused) => refused,
    };
    let headers = answer.headers_mut();
    let fixed: [(HeaderName, &str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    answer
}

#[expect(clippy::result_large_err, reason = "made once per request")]
fn check(app: &App, request: &Request) -> Result<Medium, Response> {
    let (headers, uri) = (request.headers(), request.uri());
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    // With a certificate, the browser has already checked the name.
    if app.certificate.is_none() && !is_plain_host(host) {
        let help = format!(
            "open http://{}/ with the link that `wavecrew web` printed",
            app.address
        );
        let message = "This server answers only to IP addresses and to `localhost`, so that no other site can impersonate it.";
        return Err(refuse(StatusCode::FORBIDDEN, "Wrong host", message, &help));
    }
    if PUBLIC.contains(&uri.path()) {
        return Ok(Medium::ReadOnly);
    }
    if let Some(token) = token_of(uri) {
        return Err(match app.access.medium(token) {
            Some(_) => sign_in(app, uri, token),
            None => refuse(
                StatusCode::UNAUTHORIZED,
                "This link is no longer valid",
                "Its token is not the one of this server: it was started again, or the link is incomplete.",
                "open the whole link that `wavecrew web` printed last",
            ),
        });
    }
    let Some(medium) = cookie(headers, &app.cookie).and_then(|token| app.access.medium(token)) else {
        return Err(refuse(
            StatusCode::UNAUTHORIZED,
            "This page needs the link with its token",
            "The browser has no valid cookie for this server: it expired, or the link was opened without its token.",
            "open the link that `wavecrew web` printed; it ends in `?token=…`",
        ));
    };
    if request.method() == Method::GET || request.method() == Method::HEAD {
        return Ok(medium);
    }
    let origin = headers
        .get(ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .unwrap_or_default();
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if origin != format!("{}://{host}", app.scheme()) || site.is_some_and(|site| site != "same-origin") {
        let help = "reload the page and try again";
        return Err(refuse(
            StatusCode::FORBIDDEN,
            "Refused",
            "The request came from another site.",
            help,
        ));
    }
    match medium {
        Medium::Full => Ok(medium),
        Medium::ReadOnly | Medium::File => Err(refuse(
            StatusCode::FORBIDDEN,
            "This link is read-only",
            "You can see everything, but change nothing.",
            "ask for the full link, or act on the command line",
        )),
    }
}

/// Anybody can make a host name point here, but not an IP address.
fn is_plain_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || number.parse::<IpAddr>().is_ok()
}

fn token_of(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("token="))
}

/// Moves the token from the address into a cookie that the browser does not send on requests of other sites.
fn sign_in(app: &App, uri: &Uri, token: &str) -> Response {
    let rest: Vec<&str> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.starts_with("token="))
        .collect();
    let mut target = uri.path().to_owned();
    if !rest.is_empty() {
        target = format!("{target}?{}", rest.join("&"));
    }
    let secure = if app.certificate.is_some() { "; Secure" } else { "" };
    let cookie = format!(
        "{}={token}; Path=/; HttpOnly; SameSite=Strict{secure}",
        app.cookie
    );
    let headers = [(LOCATION, target), (SET_COOKIE, cookie)];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok());
    let mut pairs = all.flat_map(|header| header.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

fn refuse(status: StatusCode, title: &str, message: &str, help: &str) -> Response {
    page(status, &problem(title, message, help))
}

pub fn page(status: StatusCode, markup: &Markup) -> Response {
    let html = markup.0.clone();
    (status, axum::response::Html(html)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_hosts() {
        for good in [
            "127.0.0.1:80",
            "localhost:5000",
            "[::1]:5000",
            "192.168.0.2",
            "localhost",
        ] {
            assert!(is_plain_host(good), "{good}");
        }
        for bad in [
            "",
            "example.org:5000",
            "localhost.example.org",
            "127.0.0.1.example.org:1",
            "evil:localhost",
        ] {
            assert!(!is_plain_host(bad), "{bad}");
        }
    }

    #[test]
    fn tokens_are_compared_whole() {
        let access = Access::random().unwrap();
        assert_eq!(access.medium(&access.full), Some(Medium::Full));
        assert_eq!(access.medium(&access.view), Some(Medium::ReadOnly));
        assert_eq!(access.medium(""), None);
        assert_eq!(access.medium(&access.full[1..]), None);
    }
}
