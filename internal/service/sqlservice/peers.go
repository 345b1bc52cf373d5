package sqlservice

import (
	"net/url"

	"github.com/fencelab/fencelab/internal/clients/java"
)

// SpringJDBC is a program in Java, with Spring Integration itself.
func SpringJDBC() Recipe {
	return Recipe{
		ID: java.Prefix + "spring-jdbc", Shows: NoToken, Peer: "jdbc", ByItsClock: true,
		Text: "A JdbcLockRegistry of Spring Integration itself, 7.0.5: a client in Java, with a new registry for each tenure. It goes by the clock of its JVM. Nothing renews the lock. Who waits asks every 100 ms.",
	}
}

// JDBC tells a client in Java of a database, by a variable of the environment, which no list
// of processes shows.
func JDBC(driver, addr, path string, user *url.Userinfo, parameters url.Values) string {
	parameters.Set("user", user.Username())
	if password, has := user.Password(); has {
		parameters.Set("password", password)
	}
	return "FENCELAB_JDBC_URL=jdbc:" + driver + "://" + addr + path + "?" + parameters.Encode()
}
