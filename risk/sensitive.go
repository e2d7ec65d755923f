package risk

import "slices"

// isKeyMaterial reports whether the file's name is that of a key, a credential
// or a store of them. Such a file is nothing else, wherever it lies.
func isKeyMaterial(p place) bool {
	switch p.fbase {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".dockercfg",
		".git-credentials", ".envrc", "credentials.json", "master.key", "credentials.yml.enc", ".vault_pass", ".vault-token",
		"kubeconfig", ".s3cfg", ".boto":
		return true
	}
	switch p.fext {
	case ".pem", ".key", ".p12", ".pfx", ".p8", ".jks", ".keystore", ".bks", ".kdbx", ".ppk", ".gpg", ".pgp", ".age", ".ovpn", ".env":
		return true
	}
	if hasAnyPrefix(p.fbase, ".env.", ".env-", ".env_") {
		return !isEnvExample(p)
	}
	return hasAnyPrefix(p.fbase, "id_rsa.", "id_ed25519.", "id_ecdsa.", "service-account", "service_account") && !isProgram(p)
}

// isSecrets reports whether the file handles or holds secrets.
func isSecrets(p place) bool {
	switch p.fbase {
	case ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".sops.yaml", ".sops.yml", ".gitleaks.toml", ".gitleaksignore",
		".secrets.baseline":
		return true
	}
	if hasAnySuffix(p.fbase, ".sops.yaml", ".sops.yml", ".sops.json", ".enc.yaml", ".enc.yml", ".enc.json", ".enc") {
		return true
	}
	if p.inFolded(func(dir string) bool {
		switch dir {
		case ".ssh", ".gnupg", ".aws", ".kube", "vault", "sealed-secrets", "keystores":
			return true
		}
		return false
	}) {
		return true
	}
	return anyWord(p, isSecretWord) || anyPair(p, isSecretPair)
}

func isSecretWord(w string) bool {
	switch w {
	case "secret", "secrets", "credential", "credentials", "kms", "keyring", "keychain", "keystore", "privatekey", "apikey", "apikeys":
		return true
	}
	return false
}

func isSecretPair(a, b string) bool {
	if b != "key" && b != "keys" {
		return false
	}
	switch a {
	case "private", "api", "signing", "ssh", "master", "encryption", "deploy":
		return true
	}
	return false
}

// isAuth reports whether a word of the path says that the file decides who
// somebody is or what they may do, or protects that by cryptography.
func isAuth(p place) bool { return anyWord(p, isAuthWord) || anyPair(p, isAuthPair) }

func isAuthWord(w string) bool {
	switch w {
	case "auth", "auth2", "authn", "authz", "oauth", "oauth1", "oauth2", "oidc", "openid", "saml", "saml2", "sso", "scim", "ldap",
		"kerberos", "gssapi", "authentication", "authenticate", "authenticated", "authenticator", "authenticators",
		"authorization", "authorisation", "authorize", "authorise", "authorized", "authorizer", "authority",
		"login", "logins", "logon", "logout", "signin", "signup", "signout", "session", "sessions", "cookie", "cookies",
		"jwt", "jwts", "jwk", "jwks", "jws", "jwe", "paseto", "bearer",
		"permission", "permissions", "privilege", "privileges", "rbac", "abac", "acl", "acls", "iam", "entitlement", "entitlements",
		"password", "passwords", "passwd", "passphrase", "bcrypt", "argon2", "scrypt", "pbkdf2",
		"mfa", "2fa", "totp", "hotp", "otp", "webauthn", "fido", "fido2", "passkey", "passkeys",
		"crypto", "cryptography", "cipher", "ciphers", "encrypt", "encryption", "decrypt", "decryption", "hmac", "signature",
		"signatures", "tls", "mtls", "x509", "pki", "csrf", "xsrf", "impersonate", "impersonation", "sudo", "sudoers", "security",
		"authservice", "authserver", "authclient", "authprovider", "authmiddleware", "authcontext", "authutil", "authutils",
		"authtoken", "basicauth", "userauth", "usersession", "accesscontrol", "pam":
		return true
	}
	return false
}

// isAuthPair catches words that are telling only together: token.go alone is
// as likely part of a parser.
func isAuthPair(a, b string) bool {
	switch b {
	case "token", "tokens":
		switch a {
		case "access", "refresh", "bearer", "id", "api", "csrf", "user", "reset":
			return true
		}
	case "control", "controls":
		return a == "access"
	case "in", "up", "out":
		return a == "sign" || a == "log"
	case "factor":
		return a == "two" || a == "multi"
	}
	return false
}

// anyWord looks at the words of every segment, the extension left out: a `.key`
// or `.session` file is judged by isKeyMaterial.
func anyWord(p place, is func(string) bool) bool {
	return slices.ContainsFunc(p.words, func(segment []string) bool { return slices.ContainsFunc(segment, is) })
}

// anyPair looks at neighbouring words of one segment.
func anyPair(p place, is func(a, b string) bool) bool {
	for _, segment := range p.words {
		for i := 1; i < len(segment); i++ {
			if is(segment[i-1], segment[i]) {
				return true
			}
		}
	}
	return false
}
